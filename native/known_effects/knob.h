// SPDX-License-Identifier: Apache-2.0
/// The knob: how much more work each iteration does, so that the size of the effect is known exactly.
#pragma once

#include <cstdint>
#include <string_view>

namespace known_effects {

/// The number of items at the knob's 0 is a multiple of this, so that every setting gives whole items.
constexpr std::int64_t itemsGrain = 200;

/// Sets the knob to a percentage from 0 to 100 in steps of 0.5. Throws std::invalid_argument, naming the allowed
/// values.
void setSlower(std::string_view percent);

/// Returns `baseItems`, a multiple of `itemsGrain`, raised by the knob's percentage, which is 0 until it is set.
std::int64_t itemsPerIteration(std::int64_t baseItems);

}  // namespace known_effects
