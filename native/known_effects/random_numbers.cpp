// SPDX-License-Identifier: Apache-2.0
#include "known_effects/random_numbers.h"

#include <numeric>
#include <utility>

namespace known_effects {

std::vector<std::uint32_t> randomCycle(std::uint32_t size) {
    std::vector<std::uint32_t> next(size);
    std::iota(next.begin(), next.end(), 0U);
    RandomNumbers random;
    for (std::uint32_t left = size; left > 1; --left) {
        std::swap(next[left - 1], next[random.below(left - 1)]);
    }
    return next;
}

std::vector<std::uint32_t> randomPicks(std::uint32_t count, std::uint32_t bound) {
    std::vector<std::uint32_t> picks;
    picks.reserve(count);
    RandomNumbers random;
    while (picks.size() < count) {
        picks.push_back(random.below(bound));
    }
    return picks;
}

}  // namespace known_effects
