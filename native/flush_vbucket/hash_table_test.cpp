// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/hash_table.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace flush_vbucket {
namespace {

TEST(HashTableTest, AKeyThatWasNotAddedIsNotFound) {
    HashTable table{8};
    EXPECT_EQ(table.lockBucket("absent").find("absent"), nullptr);
}

TEST(HashTableTest, KeysThatShareABucketAreDistinguished) {
    HashTable table{1};
    table.lockBucket("one").add("one").cas = 1;
    table.lockBucket("two").add("two").cas = 2;
    EXPECT_EQ(table.lockBucket("one").find("one")->cas, 1U);
    EXPECT_EQ(table.lockBucket("two").find("two")->cas, 2U);
}

TEST(HashTableTest, ARemovedKeyIsGoneAndItsNeighbourStays) {
    HashTable table{1};
    table.lockBucket("one").add("one");
    table.lockBucket("two").add("two");
    table.lockBucket("one").remove("one");
    EXPECT_EQ(table.lockBucket("one").find("one"), nullptr);
    EXPECT_NE(table.lockBucket("two").find("two"), nullptr);
}

TEST(HashTableTest, CountsDirtyValues) {
    HashTable table{8};
    table.lockBucket("one").add("one");
    table.lockBucket("two").add("two").isDirty = false;
    EXPECT_EQ(table.countDirty(), 1);
}

TEST(HashTableTest, AnEmptySizeIsOneBucket) {
    HashTable table{0, 0};
    table.lockBucket("one").add("one");
    EXPECT_NE(table.lockBucket("one").find("one"), nullptr);
}

TEST(HashTableTest, ABucketIsChangedByOneThreadAtATime) {
    HashTable table{4, 2};
    table.lockBucket("shared").add("shared");
    {
        std::vector<std::jthread> writers;
        writers.reserve(4);
        for (int writer = 0; writer < 4; ++writer) {
            writers.emplace_back([&table] {
                for (int round = 0; round < 1000; ++round) {
                    const auto bucket = table.lockBucket("shared");
                    ++bucket.find("shared")->revision;
                }
            });
        }
    }
    EXPECT_EQ(table.lockBucket("shared").find("shared")->revision, 4000U);
}

}  // namespace
}  // namespace flush_vbucket
