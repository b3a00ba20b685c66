// SPDX-License-Identifier: Apache-2.0
/// Random numbers and orders that are the same in every launch, and cheap.
#pragma once

#include <cstdint>
#include <vector>

namespace known_effects {

/// Xorshift with the shifts 13, 7 and 17 (Marsaglia, Xorshift RNGs, 2003): each number except 0 occurs once per period.
class RandomNumbers {
   public:
    constexpr std::uint64_t next() {
        state_ ^= state_ << 13U;
        state_ ^= state_ >> 7U;
        state_ ^= state_ << 17U;
        return state_;
    }

    /// Returns a number from 0 to `bound` - 1.
    constexpr std::uint32_t below(std::uint32_t bound) {
        return static_cast<std::uint32_t>(((next() >> 32U) * bound) >> 32U);
    }

   private:
    std::uint64_t state_ = 0x9E3779B97F4A7C15U;
};

/// Returns for each of `size` places the next one, so that all of them form one cycle (Sattolo, An algorithm to
/// generate a random cyclic permutation, 1986).
std::vector<std::uint32_t> randomCycle(std::uint32_t size);

/// Returns `count` numbers below `bound`.
std::vector<std::uint32_t> randomPicks(std::uint32_t count, std::uint32_t bound);

}  // namespace known_effects
