// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/checkpoint_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

namespace flush_vbucket {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::size_t all = 1'000'000;

QueuedItem itemOf(const std::string& key) { return makeRef<Item>(key, Value{}); }

std::vector<std::string> keysOf(const CheckpointQueue::Batch& batch) {
    std::vector<std::string> keys;
    for (const auto& item : batch.items) {
        keys.push_back(item->key + std::to_string(item->seqno));
    }
    return keys;
}

TEST(CheckpointQueueTest, ReturnsItemsInTheOrderOfTheirSeqnos) {
    CheckpointQueue queue;
    queue.queueDirty(itemOf("b"));
    queue.queueDirty(itemOf("a"));
    EXPECT_THAT(keysOf(queue.take(all)), ElementsAre("b1", "a2"));
}

TEST(CheckpointQueueTest, AKeyQueuedAgainTakesThePlaceOfTheOlderOne) {
    CheckpointQueue queue;
    EXPECT_TRUE(queue.queueDirty(itemOf("a")));
    EXPECT_TRUE(queue.queueDirty(itemOf("b")));
    EXPECT_FALSE(queue.queueDirty(itemOf("a")));
    EXPECT_THAT(keysOf(queue.take(all)), ElementsAre("b2", "a3"));
}

TEST(CheckpointQueueTest, AnItemIsReturnedOnce) {
    CheckpointQueue queue;
    queue.queueDirty(itemOf("a"));
    queue.take(all);
    EXPECT_THAT(queue.take(all).items, IsEmpty());
}

TEST(CheckpointQueueTest, AKeyThatWasTakenIsQueuedAnew) {
    CheckpointQueue queue;
    queue.queueDirty(itemOf("a"));
    queue.take(all);
    EXPECT_TRUE(queue.queueDirty(itemOf("a")));
    EXPECT_THAT(keysOf(queue.take(all)), ElementsAre("a2"));
}

TEST(CheckpointQueueTest, AFullCheckpointKeepsItsItems) {
    CheckpointQueue queue{2};
    queue.queueDirty(itemOf("a"));
    queue.queueDirty(itemOf("b"));
    EXPECT_TRUE(queue.queueDirty(itemOf("a")));
    EXPECT_THAT(keysOf(queue.take(all)), ElementsAre("a1", "b2", "a3"));
}

TEST(CheckpointQueueTest, ReturnsWholeCheckpointsUntilThereIsEnough) {
    CheckpointQueue queue{2};
    for (const auto* key : {"a", "b", "c", "d", "e"}) {
        queue.queueDirty(itemOf(key));
    }
    const auto first = queue.take(3);
    EXPECT_THAT(keysOf(first), ElementsAre("a1", "b2", "c3", "d4"));
    EXPECT_TRUE(first.hasMore);
    const auto second = queue.take(3);
    EXPECT_THAT(keysOf(second), ElementsAre("e5"));
    EXPECT_FALSE(second.hasMore);
}

TEST(CheckpointQueueTest, RemovingTakenItemsKeepsWaitingOnes) {
    CheckpointQueue queue;
    queue.queueDirty(itemOf("a"));
    queue.take(all);
    queue.queueDirty(itemOf("b"));
    queue.removePersisted();
    EXPECT_THAT(keysOf(queue.take(all)), ElementsAre("b2"));
}

TEST(CheckpointQueueTest, SeqnosOfSeveralThreadsHaveNeitherGapsNorDuplicates) {
    CheckpointQueue queue{16};
    {
        std::vector<std::jthread> writers;
        writers.reserve(4);
        for (int writer = 0; writer < 4; ++writer) {
            writers.emplace_back([&queue, writer] {
                for (int number = 0; number < 100; ++number) {
                    queue.queueDirty(itemOf(std::to_string(writer) + ":" + std::to_string(number)));
                }
            });
        }
    }
    std::set<std::uint64_t> seqnos;
    for (const auto& item : queue.take(all).items) {
        seqnos.insert(item->seqno);
    }
    EXPECT_EQ(seqnos.size(), 400U);
    EXPECT_EQ(*seqnos.rbegin(), 400U);
}

}  // namespace
}  // namespace flush_vbucket
