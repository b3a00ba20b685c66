// SPDX-License-Identifier: Apache-2.0
#include "known_effects/random_numbers.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace known_effects {
namespace {

/// Returns the number of steps from place 0 until it is reached again.
std::uint32_t lengthOfFirstCycle(const std::vector<std::uint32_t>& next) {
    std::uint32_t steps = 1;
    for (std::uint32_t place = next[0]; place != 0; place = next[place]) {
        ++steps;
    }
    return steps;
}

class RandomCycleTest : public testing::TestWithParam<std::uint32_t> {};

TEST_P(RandomCycleTest, VisitsEveryPlaceBeforeItReturns) {
    EXPECT_EQ(lengthOfFirstCycle(randomCycle(GetParam())), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Sizes, RandomCycleTest, testing::Values(1U, 2U, 3U, 4096U, 100'000U));

TEST(RandomOrderTest, IsTheSameEachTime) { EXPECT_EQ(randomCycle(1000), randomCycle(1000)); }

TEST(RandomOrderTest, SeldomGoesToTheNeighbour) {
    const auto next = randomCycle(4096);
    std::uint32_t neighbours = 0;
    for (std::uint32_t place = 0; place < next.size(); ++place) {
        neighbours += next[place] == place + 1 ? 1 : 0;
    }
    EXPECT_LT(neighbours, 10U);
}

TEST(RandomPicksTest, ReachEveryNumberBelowTheBoundAndNoOther) {
    const auto picks = randomPicks(1000, 4);
    for (std::uint32_t number = 0; number < 4; ++number) {
        EXPECT_NEAR(static_cast<double>(std::count(picks.begin(), picks.end(), number)), 250.0, 60.0);
    }
    EXPECT_EQ(*std::max_element(picks.begin(), picks.end()), 3U);
}

}  // namespace
}  // namespace known_effects
