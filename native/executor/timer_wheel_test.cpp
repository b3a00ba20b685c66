// SPDX-License-Identifier: Apache-2.0
#include "executor/timer_wheel.h"

#include <gtest/gtest.h>

namespace executor {
namespace {

TEST(TimerWheelTest, ATimeoutExpiresAtItsTickAndNotBefore) {
    TimerWheel wheel;
    Timeout timeout;
    wheel.schedule(timeout, 3);

    wheel.advance(2);
    EXPECT_FALSE(timeout.hasExpired());
    wheel.advance(1);
    EXPECT_TRUE(timeout.hasExpired());
    EXPECT_EQ(wheel.size(), 0U);
}

TEST(TimerWheelTest, ADelayOfNothingExpiresAtTheNextTick) {
    TimerWheel wheel;
    Timeout timeout;
    wheel.schedule(timeout, 0);

    EXPECT_FALSE(timeout.hasExpired());
    wheel.advance(1);
    EXPECT_TRUE(timeout.hasExpired());
}

TEST(TimerWheelTest, ADelayBeyondOneTurnWaitsForItsOwnTurn) {
    TimerWheel wheel;
    Timeout soon;
    Timeout late;
    wheel.schedule(soon, 5);
    wheel.schedule(late, 5 + 2 * TimerWheel::slotCount);

    wheel.advance(5 + TimerWheel::slotCount);
    EXPECT_TRUE(soon.hasExpired());
    EXPECT_FALSE(late.hasExpired());
    wheel.advance(TimerWheel::slotCount);
    EXPECT_TRUE(late.hasExpired());
}

TEST(TimerWheelTest, SchedulingAgainMovesATimeout) {
    TimerWheel wheel;
    Timeout timeout;
    wheel.schedule(timeout, 2);
    wheel.schedule(timeout, 10);

    wheel.advance(9);
    EXPECT_FALSE(timeout.hasExpired());
    EXPECT_EQ(wheel.size(), 1U);
    wheel.advance(1);
    EXPECT_TRUE(timeout.hasExpired());
}

TEST(TimerWheelTest, ACancelledTimeoutNeverExpires) {
    TimerWheel wheel;
    Timeout timeout;
    wheel.schedule(timeout, 2);

    EXPECT_TRUE(wheel.cancel(timeout));
    EXPECT_FALSE(wheel.cancel(timeout));
    wheel.advance(TimerWheel::slotCount);
    EXPECT_FALSE(timeout.hasExpired());
}

TEST(TimerWheelTest, AnExpiredTimeoutCanBeScheduledAgain) {
    TimerWheel wheel;
    Timeout timeout;
    wheel.schedule(timeout, 1);
    wheel.advance(1);

    wheel.schedule(timeout, 1);
    EXPECT_FALSE(timeout.hasExpired());
    wheel.advance(1);
    EXPECT_TRUE(timeout.hasExpired());
}

}  // namespace
}  // namespace executor
