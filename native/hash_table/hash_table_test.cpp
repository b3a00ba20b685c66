// SPDX-License-Identifier: Apache-2.0
#include "hash_table/hash_table.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "hash_table/make_items.h"
#include "hash_table/per_core_statistics.h"
#include "hash_table/per_llc_statistics.h"
#include "hash_table/reference_totals.h"
#include "hash_table/run_together.h"
#include "hash_table/single_statistics.h"

namespace hash_table {
namespace {

template <typename Variant>
class HashTableTest : public testing::Test {
   protected:
    static benchgate::Topology topology() { return benchgate::withLastLevelCaches(benchgate::readTopology(), 2); }

    std::map<std::string, std::string> contents() {
        std::map<std::string, std::string> found;
        table.visit([&found](const StoredValue& value) {
            EXPECT_TRUE(found.emplace(value.key(), value.value()).second) << value.key() << " is there twice";
        });
        return found;
    }

    /// Returns the first counter in which the statistics differ from a count of the values; nothing if they agree.
    std::optional<std::string> wrongStatistics() {
        Totals seen;
        table.visit([&seen](const StoredValue& value) { countInReference(seen, value); });
        EXPECT_EQ(bucketMetaData.total(), seen.metaDataMemory);
        return differenceBetween(seen, table.totals());
    }

    PerCoreCounter bucketMetaData{topology()};
    HashTable<Variant> table{topology(), bucketMetaData};
};

using Variants = testing::Types<SingleStatistics, PerLlcStatistics, PerCoreStatistics>;
TYPED_TEST_SUITE(HashTableTest, Variants);

TYPED_TEST(HashTableTest, ANewItemWasClean) {
    EXPECT_EQ(this->table.set({.key = "key", .value = "x"}), MutationStatus::WasClean);
    EXPECT_EQ(this->table.findForRead("key").value->value(), "x");
}

TYPED_TEST(HashTableTest, AReplacedItemWasDirtyUntilTheDiskHasIt) {
    this->table.set({.key = "key", .value = "x"});
    EXPECT_EQ(this->table.set({.key = "key", .value = "y"}), MutationStatus::WasDirty);

    this->table.findForWrite("key").value->markClean();

    EXPECT_EQ(this->table.set({.key = "key", .value = "z"}), MutationStatus::WasClean);
    EXPECT_EQ(this->table.findForRead("key").value->value(), "z");
    EXPECT_EQ(this->table.findForRead("key").value->frequency(), 2);
}

TYPED_TEST(HashTableTest, AMissingKeyIsNotFound) {
    EXPECT_EQ(this->table.findForRead("key").value, nullptr);
    EXPECT_EQ(this->table.findForWrite("key").value, nullptr);
}

TYPED_TEST(HashTableTest, ARemovedItemIsGoneAndItsNeighboursStay) {
    // With one bucket, all values are in one chain.
    this->table.resize(1);
    for (const std::string key : {"first", "middle", "last"}) {
        this->table.set({.key = key, .value = key});
    }

    this->table.remove(this->table.findForWrite("middle"));

    EXPECT_EQ(this->contents(), (std::map<std::string, std::string>{{"first", "first"}, {"last", "last"}}));
    EXPECT_EQ(this->wrongStatistics(), std::nullopt);
}

TYPED_TEST(HashTableTest, ReadersSeeTheCommittedValueAndWritersThePendingOne) {
    this->table.set({.key = "key", .value = "committed"});
    this->table.set({.key = "key", .value = "pending", .isPending = true});

    EXPECT_EQ(this->table.findForRead("key").value->value(), "committed");
    EXPECT_EQ(this->table.findForWrite("key").value->value(), "pending");
    EXPECT_EQ(this->wrongStatistics(), std::nullopt);
}

TYPED_TEST(HashTableTest, APendingValueAloneIsHiddenFromReaders) {
    this->table.set({.key = "key", .value = "pending", .isPending = true});

    EXPECT_EQ(this->table.findForRead("key").value, nullptr);
}

TYPED_TEST(HashTableTest, AFoundValueIsLockedUntilItIsReleased) {
    this->table.resize(1);
    this->table.set({.key = "key", .value = "x"});
    std::atomic<bool> isWriting{false};
    std::jthread writer;
    {
        const auto found = this->table.findForWrite("key");
        writer = std::jthread{[&] {
            isWriting = true;
            this->table.set({.key = "key", .value = "y"});
        }};
        // Enough time for a writer that is not blocked.
        for (int turn = 0; !isWriting || turn < 10'000; ++turn) {
            std::this_thread::yield();
        }
        EXPECT_EQ(found.value->value(), "x");
    }
    writer.join();

    EXPECT_EQ(this->table.findForRead("key").value->value(), "y");
}

TYPED_TEST(HashTableTest, ResizingKeepsEveryValueAndChangesNoStatistics) {
    for (const Item& item : makeItems(0, 1000)) {
        this->table.set(item);
    }
    const auto before = this->contents();
    const Totals totals = this->table.totals();
    for (const std::size_t buckets : {1U, 5000U, 47U}) {
        this->table.resize(buckets);

        EXPECT_EQ(this->table.bucketCount(), buckets);
        EXPECT_EQ(this->contents(), before);
        EXPECT_EQ(differenceBetween(totals, this->table.totals()), std::nullopt);
    }
}

TYPED_TEST(HashTableTest, ClearingLeavesNothingAndCountsNothing) {
    for (const Item& item : makeItems(0, 100)) {
        this->table.set(item);
    }
    this->table.set({.key = "system", .value = "x", .isSystem = true});
    this->table.set({.key = "deleted", .value = "x", .isDeleted = true});
    this->table.set({.key = "pending", .value = "x", .isPending = true});

    this->table.clear();

    EXPECT_TRUE(this->contents().empty());
    EXPECT_EQ(differenceBetween(Totals{}, this->table.totals()), std::nullopt);
    EXPECT_EQ(this->bucketMetaData.total(), 0);
}

TYPED_TEST(HashTableTest, ADestroyedTableSubtractsItsShareOfTheBucket) {
    this->table.set({.key = "key", .value = "x"});
    const auto before = this->bucketMetaData.total();
    {
        HashTable<TypeParam> other{this->topology(), this->bucketMetaData};
        other.set({.key = "key", .value = "x"});
        EXPECT_EQ(this->bucketMetaData.total(), 2 * before);
    }

    EXPECT_EQ(this->bucketMetaData.total(), before);
}

TYPED_TEST(HashTableTest, AChainOfAnyLengthCanBeDropped) {
    // So many that the usual stack of 8 MiB overflows if each node's destructor calls the next one with 32 bytes or
    // more. Inserted into short chains, because each insertion searches a whole chain.
    constexpr int nodes = 300'000;
    this->table.resize(nodes);
    Item item{.key = {}, .value = "x"};
    for (int index = 0; index < nodes; ++index) {
        item.key = std::to_string(index);
        this->table.set(item);
    }
    this->table.resize(1);

    this->table.clear();

    EXPECT_EQ(this->bucketMetaData.total(), 0);
}

/// Calls `disturb(0)`, `disturb(1)`, … evenly spread over the time in which others count `done` up to `total`.
void disturbMeanwhile(const std::atomic<int>& done, int total, const std::function<void(std::size_t)>& disturb) {
    constexpr int times = 60;
    for (int time = 0; time < times; ++time) {
        while (done < total * time / times) {
            std::this_thread::yield();
        }
        disturb(static_cast<std::size_t>(time));
    }
}

constexpr int itemsPerWorker = 400;

/// Adds, replaces and removes a thread's own items, and one item that all threads compete for.
template <typename Table>
void work(Table& table, int thread, std::atomic<int>& done) {
    for (const Item& item : makeItems(thread, itemsPerWorker)) {
        table.set(item);
        table.set({.key = item.key, .value = "longer", .datatype = jsonDatatype});
        if (item.key.back() == '7') {
            table.remove(table.findForWrite(item.key));
        }
        table.set({.key = "shared", .value = item.key});
        if (auto found = table.findForWrite("shared"); found.value != nullptr) {
            table.remove(std::move(found));
        }
        table.findForRead(item.key);
        ++done;
    }
}

TYPED_TEST(HashTableTest, ManyThreadsLoseNothingWhileTheTableIsResized) {
    for (const int workers : {1, 2, 5, 8}) {
        this->table.clear();
        std::atomic<int> done{0};
        runTogether(workers + 1, [this, workers, &done](int thread) {
            if (thread < workers) {
                work(this->table, thread, done);
                return;
            }
            constexpr std::array<std::size_t, 6> sizes{1, 100, 3, 2000, 47, 500};
            disturbMeanwhile(done, workers * itemsPerWorker,
                             [&](std::size_t time) { this->table.resize(sizes.at(time % sizes.size())); });
        });

        // Every tenth item was removed.
        EXPECT_EQ(this->contents().size(), static_cast<std::size_t>(workers) * 360) << workers << " threads";
        EXPECT_EQ(this->wrongStatistics(), std::nullopt) << workers << " threads";
    }
}

TYPED_TEST(HashTableTest, StatisticsAreRightAfterClearingUnderLoad) {
    constexpr int workers = 3;
    std::atomic<int> done{0};
    runTogether(workers + 1, [this, &done](int thread) {
        if (thread == workers) {
            disturbMeanwhile(done, workers * itemsPerWorker, [this](std::size_t /*time*/) { this->table.clear(); });
            return;
        }
        for (const Item& item : makeItems(thread, itemsPerWorker)) {
            this->table.set(item);
            ++done;
        }
    });

    EXPECT_EQ(this->wrongStatistics(), std::nullopt);
}

}  // namespace
}  // namespace hash_table
