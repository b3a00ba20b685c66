// SPDX-License-Identifier: Apache-2.0
#include "executor/spin_mutex.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace executor {
namespace {

TEST(SpinMutexTest, OneThreadAtATimeIsInside) {
    constexpr int threadCount = 4;
    constexpr int rounds = 5000;
    SpinMutex mutex;
    int count = 0;
    std::vector<std::thread> threads;
    threads.reserve(threadCount);
    for (int thread = 0; thread < threadCount; ++thread) {
        threads.emplace_back([&] {
            for (int round = 0; round < rounds; ++round) {
                const std::lock_guard lock{mutex};
                ++count;
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }

    EXPECT_EQ(count, threadCount * rounds);
}

TEST(SpinMutexTest, AParkedThreadIsWoken) {
    SpinMutex mutex;
    std::unique_lock held{mutex};
    int value = 0;
    std::thread waiter{[&] {
        const std::lock_guard lock{mutex};
        ++value;
    }};
    value = 1;
    held.unlock();
    waiter.join();

    EXPECT_EQ(value, 2);
}

}  // namespace
}  // namespace executor
