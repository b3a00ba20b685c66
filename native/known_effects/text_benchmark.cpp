// SPDX-License-Identifier: Apache-2.0
/// Work of turning numbers into text.
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iomanip>
#include <numeric>
#include <sstream>
#include <string_view>
#include <vector>

#include "known_effects/known_effects_benchmarks.h"
#include "known_effects/measured_work.h"
#include "known_effects/random_numbers.h"

namespace known_effects {
namespace {

std::uint64_t sumOfCharacters(std::string_view text) {
    return std::accumulate(text.begin(), text.end(), std::uint64_t{0});
}

/// An item writes a double with six digits after the point and an exponent.
class FormatNumbers {
   public:
    static constexpr std::int64_t baseItems = 2'000;

    std::uint64_t doItems(std::int64_t items) {
        std::uint64_t sum = 0;
        for (std::int64_t item = 0; item < items; ++item) {
            std::array<char, longest> text{};
            const auto written = std::to_chars(text.data(), text.data() + text.size(), numbers_[turn_.next()],
                                               std::chars_format::scientific, digits);
            sum += sumOfCharacters({text.data(), static_cast<std::size_t>(written.ptr - text.data())});
        }
        return sum;
    }

    static std::uint64_t reference(std::int64_t items) {
        const auto numbers = makeNumbers();
        std::uint64_t sum = 0;
        for (std::int64_t item = 0; item < items; ++item) {
            std::ostringstream text;
            text << std::scientific << std::setprecision(digits) << numbers[static_cast<std::size_t>(item) % count];
            sum += sumOfCharacters(text.str());
        }
        return sum;
    }

   private:
    static constexpr int digits = 6;
    static constexpr std::size_t longest = 32;
    static constexpr std::uint32_t count = 4096;

    static std::vector<double> makeNumbers() {
        std::vector<double> numbers;
        numbers.reserve(count);
        for (const auto pick : randomPicks(count, 2'000'000'000)) {
            numbers.push_back(static_cast<double>(pick) / 1e6 - 1e3);
        }
        return numbers;
    }

    std::vector<double> numbers_ = makeNumbers();
    Turn turn_{count};
};

}  // namespace

void registerTextBenchmarks() { registerWork<FormatNumbers>("FormatNumbers"); }

}  // namespace known_effects
