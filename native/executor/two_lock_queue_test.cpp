// SPDX-License-Identifier: Apache-2.0
#include "executor/two_lock_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace executor {
namespace {

TEST(TwoLockQueueTest, AnEmptyQueueGivesNothing) {
    TwoLockQueue<int> queue;

    EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(TwoLockQueueTest, IsFirstInFirstOut) {
    TwoLockQueue<int> queue;
    queue.push(1);
    queue.push(2);

    EXPECT_EQ(queue.pop(), 1);
    queue.push(3);
    EXPECT_EQ(queue.pop(), 2);
    EXPECT_EQ(queue.pop(), 3);
    EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(TwoLockQueueTest, KeepsTheOrderAcrossManySegments) {
    constexpr int count = 1000;
    TwoLockQueue<int> queue;
    for (int item = 0; item < count; ++item) {
        queue.push(item);
    }

    for (int item = 0; item < count; ++item) {
        ASSERT_EQ(queue.pop(), item);
    }
    EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(TwoLockQueueTest, AValueIsReleasedWhenItIsTaken) {
    TwoLockQueue<std::shared_ptr<int>> queue;
    const auto value = std::make_shared<int>(7);
    queue.push(value);

    queue.pop();

    EXPECT_EQ(value.use_count(), 1);
}

TEST(TwoLockQueueTest, RemainingValuesAreDroppedWithTheQueue) {
    const auto value = std::make_shared<int>(7);
    {
        TwoLockQueue<std::shared_ptr<int>> queue;
        queue.push(value);
        queue.push(value);
    }

    EXPECT_EQ(value.use_count(), 1);
}

TEST(TwoLockQueueTest, ManyProducersAndConsumersLoseAndDuplicateNoValue) {
    constexpr int producers = 3;
    constexpr int consumers = 3;
    constexpr int each = 2000;
    TwoLockQueue<int> queue;
    constexpr int all = producers * each;
    std::vector<std::atomic<int>> seen(all);
    std::atomic<int> left{all};
    std::vector<std::thread> threads;
    threads.reserve(producers + consumers);
    for (int producer = 0; producer < producers; ++producer) {
        threads.emplace_back([&queue, producer] {
            for (int item = 0; item < each; ++item) {
                queue.push(producer * each + item);
            }
        });
    }
    for (int consumer = 0; consumer < consumers; ++consumer) {
        threads.emplace_back([&] {
            while (left > 0) {
                if (const auto item = queue.pop()) {
                    ++seen[static_cast<std::size_t>(*item)];
                    --left;
                } else {
                    std::this_thread::yield();
                }
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }

    EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](const auto& times) { return times == 1; }));
}

}  // namespace
}  // namespace executor
