// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/flusher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "flush_vbucket/append_only_store.h"
#include "flush_vbucket/per_item_callback.h"
#include "flush_vbucket/per_transaction_callback.h"
#include "flush_vbucket/scoped_directory.h"
#include "flush_vbucket/selected_callback.h"

namespace flush_vbucket {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Records the commits that it gets, or refuses them.
class FakeStore : public KVStore {
   public:
    void commit(std::span<Document* const> documents, const VBucketState& state, const OnSaved& onSaved) override {
        if (isBroken) {
            throw StoreError{"broken"};
        }
        for (const Document* document : documents) {
            writes.push_back(std::string{document->body.key} + "=" + std::string{document->body.value} +
                             (document->info.isDeleted ? "deleted" : ""));
            onSaved(*document, isEveryKeyThere);
        }
        ++commits;
        state_ = state;
    }
    [[nodiscard]] Contents readAll() const override { return {}; }
    [[nodiscard]] VBucketState state() const override {
        if (isUnreadable) {
            throw StoreError{"unreadable"};
        }
        return state_;
    }

    bool isBroken = false;
    bool isUnreadable = false;
    bool isEveryKeyThere = false;
    int commits = 0;
    std::vector<std::string> writes;

   private:
    VBucketState state_;
};

template <typename Callback>
class FlusherTest : public testing::Test {
   protected:
    FlushResult flush() { return flusher.flush(vbucket, store); }
    bool isDirty(const std::string& key) { return vbucket.hashTable().lockBucket(key).find(key)->isDirty; }

    VBucket vbucket{8, 2};
    FakeStore store;
    FlusherOf<Callback> flusher;
};

using Variants = testing::Types<PerItemCallback, PerTransactionCallback>;
TYPED_TEST_SUITE(FlusherTest, Variants, );

TYPED_TEST(FlusherTest, NothingToFlushCommitsNothing) {
    const auto result = this->flush();
    EXPECT_EQ(result.flushed, 0U);
    EXPECT_FALSE(result.hasMore);
    EXPECT_EQ(this->store.commits, 0);
}

TYPED_TEST(FlusherTest, AllWaitingItemsAreWrittenInOneTransactionSortedByKey) {
    for (const auto* key : {"c", "a", "b"}) {
        this->vbucket.set(key, "1");
    }
    EXPECT_EQ(this->flush().flushed, 3U);
    EXPECT_EQ(this->store.commits, 1);
    EXPECT_THAT(this->store.writes, ElementsAre("a=1", "b=1", "c=1"));
}

TYPED_TEST(FlusherTest, OfSeveralMutationsOfAKeyTheNewestIsWritten) {
    for (const auto* value : {"1", "2", "3"}) {
        this->vbucket.set("a", value);
        this->vbucket.set("b", value);
    }
    EXPECT_EQ(this->flush().flushed, 2U);
    EXPECT_THAT(this->store.writes, ElementsAre("a=3", "b=3"));
    EXPECT_EQ(this->vbucket.stats().diskQueueSize, 0);
    EXPECT_EQ(this->vbucket.stats().totalPersisted, 2);
}

TYPED_TEST(FlusherTest, FlushedValuesAreClean) {
    this->vbucket.set("a", "1");
    this->flush();
    EXPECT_FALSE(this->isDirty("a"));
}

TYPED_TEST(FlusherTest, NewAndReplacedDocumentsAreCountedApart) {
    this->vbucket.set("a", "1");
    this->flush();
    this->store.isEveryKeyThere = true;
    this->vbucket.set("a", "2");
    this->flush();
    EXPECT_EQ(this->vbucket.stats().opsCreate, 1);
    EXPECT_EQ(this->vbucket.stats().opsUpdate, 1);
    EXPECT_EQ(this->vbucket.stats().numTotalItems, 1);
}

TYPED_TEST(FlusherTest, ADeletionIsWrittenAndCounted) {
    this->vbucket.set("a", "1");
    this->flush();
    this->store.isEveryKeyThere = true;
    this->vbucket.del("a");
    this->flush();
    EXPECT_THAT(this->store.writes, ElementsAre("a=1", "a=deleted"));
    EXPECT_EQ(this->vbucket.stats().opsDelete, 1);
    EXPECT_EQ(this->vbucket.hashTable().lockBucket("a").find("a"), nullptr);
}

TYPED_TEST(FlusherTest, TheStateFollowsTheWrittenItems) {
    this->vbucket.set("a", "1");
    this->vbucket.set("b", "1");
    this->vbucket.del("a");
    this->flush();
    EXPECT_EQ(this->store.state(), (VBucketState{.highSeqno = 3, .maxCas = 3, .maxDeletedRevision = 2}));
}

TYPED_TEST(FlusherTest, AFailedFlushKeepsItemsDirtyAndReportsMore) {
    this->store.isBroken = true;
    this->vbucket.set("a", "1");
    const auto result = this->flush();
    EXPECT_EQ(result.flushed, 0U);
    EXPECT_TRUE(result.hasMore);
    EXPECT_TRUE(this->isDirty("a"));
    EXPECT_EQ(this->vbucket.stats().flushFailed, 1);
}

TYPED_TEST(FlusherTest, FailedItemsAreWrittenByTheNextFlush) {
    this->store.isBroken = true;
    this->vbucket.set("a", "1");
    this->flush();
    this->store.isBroken = false;
    EXPECT_EQ(this->flush().flushed, 1U);
    EXPECT_THAT(this->store.writes, ElementsAre("a=1"));
    EXPECT_EQ(this->vbucket.stats().diskQueueSize, 0);
}

TYPED_TEST(FlusherTest, AStoreWhoseStateCannotBeReadLosesNothing) {
    this->store.isUnreadable = true;
    this->vbucket.set("a", "1");
    EXPECT_THROW(this->flush(), StoreError);
    this->store.isUnreadable = false;
    EXPECT_EQ(this->flush().flushed, 1U);
    EXPECT_THAT(this->store.writes, ElementsAre("a=1"));
}

TYPED_TEST(FlusherTest, FlushingAllEndsWhenNothingIsLeft) {
    FlusherOf<TypeParam> small{1};
    for (const auto* key : {"a", "b", "c"}) {
        this->vbucket.set(key, "1");
    }
    EXPECT_EQ(flushAll(small, this->vbucket, this->store), 3U);
    EXPECT_EQ(this->store.commits, 2);
}

TYPED_TEST(FlusherTest, FlushingAllEndsWhenTheStoreFails) {
    this->store.isBroken = true;
    this->vbucket.set("a", "1");
    EXPECT_EQ(flushAll(this->flusher, this->vbucket, this->store), 0U);
    EXPECT_EQ(this->vbucket.stats().flushFailed, 1);
}

TYPED_TEST(FlusherTest, AMutationSinceTheFailureReplacesTheFailedOne) {
    this->store.isBroken = true;
    this->vbucket.set("a", "old");
    this->flush();
    this->store.isBroken = false;
    this->vbucket.set("a", "new");
    this->flush();
    EXPECT_THAT(this->store.writes, ElementsAre("a=new"));
    EXPECT_EQ(this->vbucket.stats().diskQueueSize, 0);
}

TYPED_TEST(FlusherTest, ABatchEndsWithTheCheckpointThatMakesItLargeEnough) {
    FlusherOf<TypeParam> small{1};
    for (const auto* key : {"a", "b", "c"}) {
        this->vbucket.set(key, "1");
    }
    const auto first = small.flush(this->vbucket, this->store);
    EXPECT_EQ(first.flushed, 2U);
    EXPECT_TRUE(first.hasMore);
    EXPECT_EQ(small.flush(this->vbucket, this->store).flushed, 1U);
}

TYPED_TEST(FlusherTest, AVBucketThatIsBeingFlushedIsLeftAlone) {
    this->vbucket.set("a", "1");
    FlushResult result;
    {
        const std::lock_guard lock{this->vbucket.flushMutex()};
        std::jthread{[&] { result = this->flush(); }}.join();
    }
    EXPECT_TRUE(result.hasMore);
    EXPECT_THAT(this->store.writes, IsEmpty());
}

TYPED_TEST(FlusherTest, ValuesSetDuringAFlushReachTheDiskLater) {
    constexpr int writers = 3;
    constexpr int rounds = 200;
    const ScopedDirectory directory;
    AppendOnlyStore disk{directory.path()};
    {
        std::vector<std::jthread> threads;
        threads.reserve(writers);
        for (int writer = 0; writer < writers; ++writer) {
            threads.emplace_back([this, writer] {
                for (int round = 1; round <= rounds; ++round) {
                    this->vbucket.set("shared" + std::to_string(round % 4), std::to_string(round));
                    this->vbucket.set("own" + std::to_string(writer), std::to_string(round));
                }
            });
        }
        for (int round = 0; round < 10; ++round) {
            this->flusher.flush(this->vbucket, disk);
        }
    }
    this->flusher.flush(this->vbucket, disk);
    const auto contents = disk.readAll();
    EXPECT_EQ(contents.size(), 4U + writers);
    EXPECT_EQ(contents.at("own1").value, std::to_string(rounds));
    EXPECT_EQ(contents.at("own1").revision, static_cast<std::uint64_t>(rounds));
    EXPECT_EQ(this->vbucket.hashTable().countDirty(), 0);
    EXPECT_EQ(this->vbucket.stats().diskQueueSize, 0);
    EXPECT_EQ(this->vbucket.stats().numTotalItems, 4 + writers);
}

TEST(SelectedCallbackTest, TheFlusherIsMadeOfTheSelectedVariant) {
    const auto flusher = makeFlusher();
    EXPECT_NE(dynamic_cast<FlusherOf<SelectedCallback>*>(flusher.get()), nullptr);
    EXPECT_EQ(callbackVariant(), SelectedCallback::variant);
}

}  // namespace
}  // namespace flush_vbucket
