// SPDX-License-Identifier: Apache-2.0
/// How much more work than usual each iteration does: an effect whose size is known exactly.
#pragma once

#include <cstdint>
#include <string_view>

namespace known_effects {

/// The number of items at the knob's 0 is a multiple of this, so that every setting makes whole items.
constexpr std::int64_t itemsGrain = 200;

/// Takes a percentage from 0 to 100 in steps of 0.5. Throws std::invalid_argument, saying what is allowed.
void setSlower(std::string_view percent);

/// `baseItems`, a multiple of `itemsGrain`, and as many percent more as the knob says; 0 percent until it is set.
std::int64_t itemsPerIteration(std::int64_t baseItems);

}  // namespace known_effects
