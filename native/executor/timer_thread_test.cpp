// SPDX-License-Identifier: Apache-2.0
#include "executor/timer_thread.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace executor {
namespace {

using namespace std::chrono_literals;

TEST(TimerThreadTest, ATimeoutExpiresByItself) {
    Timeout timeout;
    TimerThread timer;
    timer.scheduleAndWait(timeout, TimerThread::tick);

    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (!timeout.hasExpired() && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::yield();
    }

    EXPECT_TRUE(timeout.hasExpired());
}

TEST(TimerThreadTest, ALaterCommandFindsTheEarlierOnesDone) {
    Timeout timeout;
    TimerThread timer;
    timer.schedule(timeout, 1h);

    EXPECT_TRUE(timer.cancelAndWait(timeout));
    EXPECT_FALSE(timer.cancelAndWait(timeout));
    EXPECT_FALSE(timeout.hasExpired());
}

TEST(TimerThreadTest, ManyThreadsMaySendCommands) {
    constexpr int threads = 3;
    constexpr int rounds = 500;
    std::vector<Timeout> timeouts(threads);
    TimerThread timer;
    std::vector<std::thread> callers;
    callers.reserve(threads);
    for (auto& timeout : timeouts) {
        callers.emplace_back([&timer, &timeout] {
            for (int round = 0; round < rounds; ++round) {
                timer.schedule(timeout, 1h);
            }
            timer.scheduleAndWait(timeout, 2h);
        });
    }
    for (auto& caller : callers) {
        caller.join();
    }

    for (auto& timeout : timeouts) {
        EXPECT_TRUE(timer.cancelAndWait(timeout));
    }
}

TEST(TimerThreadTest, CanBeDestroyedWithTimeoutsLeft) {
    Timeout timeout;
    TimerThread timer;
    timer.scheduleAndWait(timeout, 1h);
}

}  // namespace
}  // namespace executor
