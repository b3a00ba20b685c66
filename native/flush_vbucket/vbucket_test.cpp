// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/vbucket.h"

#include <gtest/gtest.h>

namespace flush_vbucket {
namespace {

TEST(VBucketTest, ASetValueIsDirtyAndQueuedWithTheSameCas) {
    VBucket vbucket{8};
    vbucket.set("key", "value");
    const auto* stored = vbucket.hashTable().lockBucket("key").find("key");
    const auto batch = vbucket.checkpoints().take(1);
    ASSERT_EQ(batch.items.size(), 1U);
    EXPECT_TRUE(stored->isDirty);
    EXPECT_EQ(stored->cas, batch.items.front()->cas);
    EXPECT_EQ(stored->value.get(), batch.items.front()->value.get());
    EXPECT_EQ(batch.items.front()->datatype, Datatype::Json);
}

TEST(VBucketTest, ANewMutationHasANewCasAndTheNextRevision) {
    VBucket vbucket{8, 1};
    vbucket.set("key", "old");
    vbucket.set("key", "new");
    const auto items = vbucket.checkpoints().take(2).items;
    ASSERT_EQ(items.size(), 2U);
    EXPECT_LT(items[0]->cas, items[1]->cas);
    EXPECT_EQ(items[0]->revision, 1U);
    EXPECT_EQ(items[1]->revision, 2U);
}

TEST(VBucketTest, TheDiskQueueCountsAReplacedMutationOnce) {
    VBucket vbucket{8};
    vbucket.set("key", "old");
    vbucket.set("key", "new");
    vbucket.set("other", "value");
    EXPECT_EQ(vbucket.stats().diskQueueSize, 2);
}

TEST(VBucketTest, ADeletionIsQueuedWithoutAValue) {
    VBucket vbucket{8};
    vbucket.set("key", "value");
    EXPECT_TRUE(vbucket.del("key"));
    const auto items = vbucket.checkpoints().take(1).items;
    ASSERT_EQ(items.size(), 1U);
    EXPECT_TRUE(items.front()->isDeleted);
    EXPECT_FALSE(items.front()->value);
}

TEST(VBucketTest, AMissingKeyCannotBeDeleted) {
    VBucket vbucket{8};
    EXPECT_FALSE(vbucket.del("key"));
    vbucket.set("key", "value");
    vbucket.del("key");
    EXPECT_FALSE(vbucket.del("key"));
}

}  // namespace
}  // namespace flush_vbucket
