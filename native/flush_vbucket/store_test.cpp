// SPDX-License-Identifier: Apache-2.0
/// Requirements for every store, and further ones for the append-only store.
#include <gtest/gtest.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "flush_vbucket/append_only_store.h"
#include "flush_vbucket/scoped_directory.h"
#include "flush_vbucket/stores.h"

namespace flush_vbucket {
namespace {

/// A mutation of a key, and the document that points into it.
struct Mutation {
    explicit Mutation(const std::string& itemKey, std::string itemValue, bool isDeleted = false)
        : item{itemKey, Value{new Blob{std::move(itemValue)}}} {
        item.isDeleted = isDeleted;
        meta = encodeMeta(item);
        document = {.body = {.key = item.key, .value = item.value->bytes},
                    .info = {.key = item.key, .meta = meta, .isDeleted = isDeleted}};
    }

    Item item;
    EncodedMeta meta{};
    Document document;
};

/// Commits one mutation; returns whether its key was there.
bool commitOne(KVStore& store, const std::string& key, const std::string& value, bool isDeleted = false) {
    Mutation mutation{key, value, isDeleted};
    const std::vector<Document*> documents{&mutation.document};
    bool found = false;
    store.commit(documents, {}, [&found](const Document& /*document*/, bool wasThere) { found = wasThere; });
    return found;
}

std::map<std::string, std::string> valuesOf(const KVStore& store) {
    std::map<std::string, std::string> values;
    for (const auto& [key, document] : store.readAll()) {
        values.emplace(key, document.value);
    }
    return values;
}

using Values = std::map<std::string, std::string>;

class StoreTest : public testing::TestWithParam<StoreKind> {
   protected:
    [[nodiscard]] std::unique_ptr<KVStore> open() const { return openStore(GetParam(), directory.path()); }

    ScopedDirectory directory;
};

INSTANTIATE_TEST_SUITE_P(All, StoreTest, testing::ValuesIn(availableStores()),
                         [](const auto& info) { return std::string{storeName(info.param)}; });

TEST_P(StoreTest, ANewStoreIsEmpty) {
    const auto store = open();
    EXPECT_TRUE(store->readAll().empty());
    EXPECT_EQ(store->state(), VBucketState{});
}

TEST_P(StoreTest, CommittedDocumentsAreThereAfterReopening) {
    {
        const auto store = open();
        commitOne(*store, "one", "1");
        commitOne(*store, "two", "2");
    }
    EXPECT_EQ(valuesOf(*open()), (Values{{"one", "1"}, {"two", "2"}}));
}

TEST_P(StoreTest, TheNewestValueOfAKeyCounts) {
    {
        const auto store = open();
        commitOne(*store, "key", "old");
        commitOne(*store, "key", "new");
    }
    EXPECT_EQ(valuesOf(*open()), (Values{{"key", "new"}}));
}

TEST_P(StoreTest, ADeletedKeyIsGoneAfterReopening) {
    {
        const auto store = open();
        commitOne(*store, "key", "value");
        commitOne(*store, "other", "stays");
        commitOne(*store, "key", "", true);
    }
    EXPECT_EQ(valuesOf(*open()), (Values{{"other", "stays"}}));
}

TEST_P(StoreTest, ReportsWhetherAKeyWasThereBefore) {
    const auto store = open();
    EXPECT_FALSE(commitOne(*store, "key", "old"));
    EXPECT_TRUE(commitOne(*store, "key", "new"));
    EXPECT_TRUE(commitOne(*store, "key", "", true));
    EXPECT_FALSE(commitOne(*store, "key", "", true));
    EXPECT_FALSE(commitOne(*store, "key", "again"));
}

TEST_P(StoreTest, ReportsItAfterReopeningToo) {
    commitOne(*open(), "key", "old");
    EXPECT_TRUE(commitOne(*open(), "key", "new"));
}

TEST_P(StoreTest, TheStateOfTheLastCommitIsKept) {
    const VBucketState state{.highSeqno = 10, .maxCas = 20, .maxDeletedRevision = 30};
    {
        const auto store = open();
        commitOne(*store, "key", "value");
        store->commit({}, state, {});
    }
    EXPECT_EQ(open()->state(), state);
}

TEST_P(StoreTest, ATransactionLargerThanAnyBufferIsKeptWhole) {
    Values expected;
    {
        std::deque<Mutation> mutations;
        std::vector<Document*> documents;
        for (const auto* key : {"a", "b", "c"}) {
            expected[key] = std::string(100'000, *key);
            documents.push_back(&mutations.emplace_back(key, expected[key]).document);
        }
        open()->commit(documents, {}, [](const Document& /*document*/, bool /*wasThere*/) {});
    }
    EXPECT_EQ(valuesOf(*open()), expected);
}

TEST_P(StoreTest, AMissingDirectoryIsAStoreError) {
    EXPECT_THROW(openStore(GetParam(), directory.path() / "absent" / "store"), StoreError);
}

class AppendOnlyStoreTest : public testing::Test {
   protected:
    void SetUp() override {
        AppendOnlyStore store{directory.path()};
        commitOne(store, "key", "old");
        firstCommit = std::filesystem::file_size(log);
        commitOne(store, "key", "new");
        secondCommit = std::filesystem::file_size(log);
    }

    ScopedDirectory directory;
    std::filesystem::path log = directory.path() / AppendOnlyStore::fileName;
    std::uintmax_t firstCommit = 0;
    std::uintmax_t secondCommit = 0;
};

TEST_F(AppendOnlyStoreTest, ATransactionCutAnywhereNeverHappened) {
    const auto whole = directory.path() / "whole";
    std::filesystem::copy_file(log, whole);
    for (auto size = firstCommit; size < secondCommit; ++size) {
        // The store cut off the last one, so that in each round the cut bytes are those of this transaction.
        std::filesystem::copy_file(whole, log, std::filesystem::copy_options::overwrite_existing);
        std::filesystem::resize_file(log, size);
        ASSERT_EQ(valuesOf(AppendOnlyStore{directory.path()}), (Values{{"key", "old"}})) << size;
    }
}

TEST_F(AppendOnlyStoreTest, ATornTailIsCutOffSoThatTheNextCommitFollowsTheLastOne) {
    std::filesystem::resize_file(log, secondCommit - 1);
    {
        AppendOnlyStore store{directory.path()};
        EXPECT_EQ(std::filesystem::file_size(log), firstCommit);
        commitOne(store, "key", "newest");
    }
    EXPECT_EQ(valuesOf(AppendOnlyStore{directory.path()}), (Values{{"key", "newest"}}));
}

TEST_F(AppendOnlyStoreTest, GarbageAfterTheLastCommitIsIgnored) {
    std::ofstream{log, std::ios::app} << std::string(100, '\1');
    EXPECT_EQ(valuesOf(AppendOnlyStore{directory.path()}), (Values{{"key", "new"}}));
}

TEST_F(AppendOnlyStoreTest, ADocumentThatWasDamagedLaterIsReportedNotReturned) {
    AppendOnlyStore store{directory.path()};
    std::fstream{log, std::ios::in | std::ios::out}.seekp(static_cast<std::streamoff>(firstCommit) + 25).put('\xFF');
    EXPECT_THROW(static_cast<void>(store.readAll()), StoreError);
}

TEST_F(AppendOnlyStoreTest, ACommitThatIsRefusedLeavesTheStoreAsItWas) {
    {
        AppendOnlyStore store{directory.path()};
        EXPECT_THROW(commitOne(store, std::string(70'000, 'k'), "value"), StoreError);
        EXPECT_EQ(std::filesystem::file_size(log), secondCommit);
        commitOne(store, "other", "value");
    }
    EXPECT_EQ(valuesOf(AppendOnlyStore{directory.path()}), (Values{{"key", "new"}, {"other", "value"}}));
}

}  // namespace
}  // namespace flush_vbucket
