/// Orders in which memory is visited so that no prefetcher can guess the next place.
#pragma once

#include <cstdint>
#include <vector>

namespace known_effects {

/// For each of `size` places the one after it, so that all of them form one cycle (Sattolo, An algorithm to generate a
/// random cyclic permutation, 1986). The same in every launch.
std::vector<std::uint32_t> randomCycle(std::uint32_t size);

/// `count` numbers below `bound`, the same in every launch.
std::vector<std::uint32_t> randomPicks(std::uint32_t count, std::uint32_t bound);

}  // namespace known_effects
