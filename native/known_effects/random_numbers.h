// SPDX-License-Identifier: Apache-2.0
/// A cheap sequence of random numbers that is the same in every launch.
#pragma once

#include <cstdint>
#include <vector>

namespace known_effects {

/// Xorshift with the shifts 13, 7 and 17 (Marsaglia, Xorshift RNGs, 2003): each number but 0 once per period.
class RandomNumbers {
   public:
    constexpr std::uint64_t next() {
        state_ ^= state_ << 13U;
        state_ ^= state_ >> 7U;
        state_ ^= state_ << 17U;
        return state_;
    }

    /// From 0 to `bound` - 1.
    constexpr std::uint32_t below(std::uint32_t bound) {
        return static_cast<std::uint32_t>(((next() >> 32U) * bound) >> 32U);
    }

   private:
    std::uint64_t state_ = 0x9E3779B97F4A7C15U;
};

/// For each of `size` places the one after it, so that all of them form one cycle (Sattolo, An algorithm to generate a
/// random cyclic permutation, 1986). The same in every launch.
std::vector<std::uint32_t> randomCycle(std::uint32_t size);

/// `count` numbers below `bound`, the same in every launch.
std::vector<std::uint32_t> randomPicks(std::uint32_t count, std::uint32_t bound);

}  // namespace known_effects
