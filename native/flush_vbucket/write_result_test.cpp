// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/write_result.h"

#include <gtest/gtest.h>

namespace flush_vbucket {
namespace {

class WriteResultTest : public testing::Test {
   protected:
    QueuedItem queueSet(const std::string& value = "value") {
        vbucket.set("key", value);
        return vbucket.checkpoints().take(1).items.front();
    }

    QueuedItem queueDelete() {
        vbucket.del("key");
        return vbucket.checkpoints().take(1).items.front();
    }

    const StoredValue* stored() { return vbucket.hashTable().lockBucket("key").find("key"); }

    VBucket vbucket{8};
};

TEST_F(WriteResultTest, AnInsertCleansTheValueAndCountsANewDocument) {
    const auto item = queueSet();
    applyResult(vbucket, item, item->cas, SetResult::Insert);
    EXPECT_FALSE(stored()->isDirty);
    EXPECT_EQ(vbucket.stats().opsCreate, 1);
    EXPECT_EQ(vbucket.stats().numTotalItems, 1);
    EXPECT_EQ(vbucket.stats().diskQueueSize, 0);
    EXPECT_EQ(vbucket.stats().totalPersisted, 1);
}

TEST_F(WriteResultTest, AnUpdateCountsNoNewDocument) {
    const auto item = queueSet();
    applyResult(vbucket, item, item->cas, SetResult::Update);
    EXPECT_FALSE(stored()->isDirty);
    EXPECT_EQ(vbucket.stats().opsUpdate, 1);
    EXPECT_EQ(vbucket.stats().numTotalItems, 0);
}

TEST_F(WriteResultTest, AValueSetSinceStaysDirty) {
    const auto item = queueSet("old");
    vbucket.set("key", "new");
    applyResult(vbucket, item, item->cas, SetResult::Insert);
    EXPECT_TRUE(stored()->isDirty);
    EXPECT_EQ(vbucket.stats().diskQueueSize, 1);
}

TEST_F(WriteResultTest, AFailedSetIsRejectedAndStaysInTheDiskQueue) {
    const auto item = queueSet();
    applyResult(vbucket, item, item->cas, SetResult::Failed);
    EXPECT_TRUE(stored()->isDirty);
    ASSERT_EQ(vbucket.rejected().size(), 1U);
    EXPECT_EQ(vbucket.stats().flushFailed, 1);
    EXPECT_EQ(vbucket.stats().diskQueueSize, 1);
}

TEST_F(WriteResultTest, APersistedDeletionLeavesMemoryAndDisk) {
    const auto set = queueSet();
    applyResult(vbucket, set, set->cas, SetResult::Insert);
    const auto deletion = queueDelete();
    applyResult(vbucket, deletion, deletion->cas, DeleteResult::Success);
    EXPECT_EQ(stored(), nullptr);
    EXPECT_EQ(vbucket.stats().opsDelete, 1);
    EXPECT_EQ(vbucket.stats().numTotalItems, 0);
}

TEST_F(WriteResultTest, ADeletionOfAKeyThatWasNeverOnDiskCountsNoDocument) {
    queueSet();
    const auto deletion = queueDelete();
    applyResult(vbucket, deletion, deletion->cas, DeleteResult::DocNotFound);
    EXPECT_EQ(vbucket.stats().opsDelete, 0);
    EXPECT_EQ(vbucket.stats().numTotalItems, 0);
}

TEST_F(WriteResultTest, AValueSetAgainSurvivesItsDeletion) {
    queueSet("old");
    const auto deletion = queueDelete();
    vbucket.set("key", "new");
    applyResult(vbucket, deletion, deletion->cas, DeleteResult::Success);
    ASSERT_NE(stored(), nullptr);
    EXPECT_TRUE(stored()->isDirty);
}

}  // namespace
}  // namespace flush_vbucket
