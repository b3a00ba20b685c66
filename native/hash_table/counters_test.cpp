// SPDX-License-Identifier: Apache-2.0
#include "hash_table/counters.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "hash_table/run_together.h"

namespace hash_table {
namespace {

constexpr int countingThreads = 4;
constexpr int roundsEach = 5000;

/// Adds and subtracts on several threads, so that each round adds one.
template <typename Counter>
void countTogether(Counter& counter) {
    runTogether(countingThreads, [&counter](int /*thread*/) {
        for (int round = 0; round < roundsEach; ++round) {
            counter.add(2);
            counter.add(-1);
        }
    });
}

template <typename Counter>
class CounterTest : public testing::Test {
   protected:
    Counter counter;
};

using CounterKinds = testing::Types<NonNegativeCounter, AtomicCounter<std::uint64_t>, AtomicCounter<std::int64_t>>;
TYPED_TEST_SUITE(CounterTest, CounterKinds);

TYPED_TEST(CounterTest, BeginsAtZero) { EXPECT_EQ(this->counter.load(), 0); }

TYPED_TEST(CounterTest, AddsAndTakesAway) {
    this->counter.add(7);
    this->counter.add(-3);

    EXPECT_EQ(this->counter.load(), 4);
}

TYPED_TEST(CounterTest, ResetForgets) {
    this->counter.add(7);
    this->counter.reset();

    EXPECT_EQ(this->counter.load(), 0);
}

TYPED_TEST(CounterTest, LosesNothingWhenManyThreadsAdd) {
    countTogether(this->counter);

    EXPECT_EQ(this->counter.load(), countingThreads * roundsEach);
}

TYPED_TEST(CounterTest, TakesEightBytes) { EXPECT_EQ(sizeof(this->counter), 8U); }

TEST(NonNegativeCounterTest, StopsAtZero) {
    NonNegativeCounter counter;
    counter.add(2);
    counter.add(-3);

    EXPECT_EQ(counter.load(), 0);
}

TEST(NonNegativeCounterTest, CountsOnFromZeroAfterItStopped) {
    NonNegativeCounter counter;
    counter.add(-3);
    counter.add(1);

    EXPECT_EQ(counter.load(), 1);
}

TEST(SignedCounterTest, GoesBelowZeroAndComesBack) {
    AtomicCounter<std::int64_t> counter;
    counter.add(-3);
    EXPECT_EQ(counter.load(), -3);
    counter.add(4);

    EXPECT_EQ(counter.load(), 1);
}

}  // namespace
}  // namespace hash_table
