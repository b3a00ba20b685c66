/// A cheap sequence of random numbers that is the same in every launch.
#pragma once

#include <cstdint>

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

}  // namespace known_effects
