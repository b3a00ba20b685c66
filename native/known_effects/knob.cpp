// SPDX-License-Identifier: Apache-2.0
#include "known_effects/knob.h"

#include <charconv>
#include <cmath>
#include <stdexcept>
#include <system_error>

namespace known_effects {
namespace {

constexpr double mostPercent = 100.0;
constexpr double stepsPerPercent = 2.0;

/// The setting, in steps of half a percent.
std::int64_t& chosenSteps() {
    static std::int64_t steps = 0;
    return steps;
}

/// Returns whether the percentage is allowed; false also for NaN.
bool isAllowed(double percent) {
    const double steps = percent * stepsPerPercent;
    return percent >= 0.0 && percent <= mostPercent && std::trunc(steps) == steps;
}

}  // namespace

void setSlower(std::string_view percent) {
    double value = 0.0;
    const char* const end = percent.data() + percent.size();
    const auto [last, error] = std::from_chars(percent.data(), end, value, std::chars_format::fixed);
    if (error != std::errc{} || last != end || !isAllowed(value)) {
        throw std::invalid_argument{"needs a percentage from 0 to 100 in steps of 0.5"};
    }
    chosenSteps() = std::llround(value * stepsPerPercent);
}

std::int64_t itemsPerIteration(std::int64_t baseItems) { return baseItems + baseItems / itemsGrain * chosenSteps(); }

}  // namespace known_effects
