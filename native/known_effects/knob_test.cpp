// SPDX-License-Identifier: Apache-2.0
#include "known_effects/knob.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace known_effects {
namespace {

class KnobTest : public testing::Test {
   protected:
    void TearDown() override { setSlower("0"); }
};

TEST_F(KnobTest, AddsNothingUntilItIsSet) { EXPECT_EQ(itemsPerIteration(400), 400); }

TEST_F(KnobTest, AHalfPercentOfTheSmallestNumberIsOneItem) {
    setSlower("0.5");
    EXPECT_EQ(itemsPerIteration(itemsGrain), itemsGrain + 1);
}

TEST_F(KnobTest, AddsExactlyTheGivenPercentage) {
    setSlower("2.5");
    EXPECT_EQ(itemsPerIteration(80'000), 82'000);
    setSlower("100");
    EXPECT_EQ(itemsPerIteration(80'000), 160'000);
}

TEST_F(KnobTest, EverySettingHasItsOwnNumberOfItems) {
    std::int64_t before = itemsGrain - 1;
    for (int step = 0; step <= 200; ++step) {
        setSlower(std::to_string(step / 2) + (step % 2 == 0 ? ".0" : ".5"));
        EXPECT_EQ(itemsPerIteration(itemsGrain), before + 1);
        before = itemsPerIteration(itemsGrain);
    }
}

TEST_F(KnobTest, TheLastOfTwoSettingsCounts) {
    setSlower("10");
    setSlower("5");
    EXPECT_EQ(itemsPerIteration(200), 210);
}

class BadPercentTest : public testing::TestWithParam<const char*> {};

TEST_P(BadPercentTest, IsRefusedAndChangesNothing) {
    EXPECT_THROW(setSlower(GetParam()), std::invalid_argument);
    EXPECT_EQ(itemsPerIteration(itemsGrain), itemsGrain);
}

INSTANTIATE_TEST_SUITE_P(Texts, BadPercentTest,
                         testing::Values("", " ", "-0.5", "0.25", "0.3", "100.5", "1e1", "5%", " 5", "5x", "0,5", "nan",
                                         "inf", "five", "999999999999999999999"));

}  // namespace
}  // namespace known_effects
