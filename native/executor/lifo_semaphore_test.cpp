// SPDX-License-Identifier: Apache-2.0
#include "executor/lifo_semaphore.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace executor {
namespace {

TEST(LifoSemaphoreTest, APermitThatIsThereIsTakenWithoutParking) {
    LifoSemaphore semaphore;
    semaphore.post();

    EXPECT_FALSE(semaphore.wait());
}

TEST(LifoSemaphoreTest, EachPermitLetsOneWaiterGo) {
    constexpr int waiters = 4;
    constexpr int permitsEach = 500;
    LifoSemaphore semaphore;
    std::atomic<int> taken{0};
    std::vector<std::thread> threads;
    threads.reserve(waiters);
    for (int waiter = 0; waiter < waiters; ++waiter) {
        threads.emplace_back([&] {
            for (int permit = 0; permit < permitsEach; ++permit) {
                semaphore.wait();
                ++taken;
            }
        });
    }

    for (int permit = 0; permit < waiters * permitsEach; ++permit) {
        semaphore.post();
    }
    for (auto& thread : threads) {
        thread.join();
    }

    EXPECT_EQ(taken, waiters * permitsEach);
}

}  // namespace
}  // namespace executor
