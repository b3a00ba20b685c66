// SPDX-License-Identifier: Apache-2.0
/// Work of the standard library's associative containers: finding keys in random order.
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "known_effects/known_effects_benchmarks.h"
#include "known_effects/measured_work.h"
#include "known_effects/random_numbers.h"

namespace known_effects {
namespace {

constexpr std::uint32_t lookupCount = 1U << 16U;

std::vector<std::uint64_t> makeKeys(std::uint32_t count) {
    RandomNumbers random;
    std::vector<std::uint64_t> keys(count);
    for (auto& key : keys) {
        key = random.next();
    }
    return keys;
}

/// A map of random keys, each with its index as value; and the keys to look up, in order.
template <typename Map>
struct Contents {
    explicit Contents(std::uint32_t size) {
        const auto keys = makeKeys(size);
        for (std::uint64_t index = 0; index < size; ++index) {
            map.emplace(keys[index], index);
        }
        wanted.reserve(lookupCount);
        for (const auto pick : randomPicks(lookupCount, size)) {
            wanted.push_back(keys[pick]);
        }
    }

    Map map;
    std::vector<std::uint64_t> wanted;
};

/// An item finds a key in a map of `size` keys, which is made once.
template <typename Map, std::uint32_t size, std::int64_t itemsAtZero>
class Lookup {
   public:
    static constexpr std::int64_t baseItems = itemsAtZero;

    std::uint64_t doItems(std::int64_t items) {
        std::uint64_t sum = 0;
        for (std::int64_t item = 0; item < items; ++item) {
            sum += contents_.map.find(contents_.wanted[turn_.next()])->second;
        }
        return sum;
    }

    static std::uint64_t reference(std::int64_t items) {
        const auto picks = randomPicks(lookupCount, size);
        std::uint64_t sum = 0;
        for (std::int64_t item = 0; item < items; ++item) {
            sum += picks[static_cast<std::size_t>(item) % lookupCount];
        }
        return sum;
    }

   private:
    static const Contents<Map>& sharedContents() {
        static const Contents<Map> contents{size};
        return contents;
    }

    const Contents<Map>& contents_ = sharedContents();
    Turn turn_{lookupCount};
};

using HashLookup = Lookup<std::unordered_map<std::uint64_t, std::uint64_t>, 100'000, 8'000>;
using TreeLookup = Lookup<std::map<std::uint64_t, std::uint64_t>, 20'000, 1'000>;

}  // namespace

void registerLookupBenchmarks() {
    registerWork<HashLookup>("HashLookup");
    registerWork<TreeLookup>("TreeLookup");
}

}  // namespace known_effects
