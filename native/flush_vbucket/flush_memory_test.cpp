// SPDX-License-Identifier: Apache-2.0
/// The exact heap use of a flush, and how much the variants differ: the numbers that this suite reports.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "flush_vbucket/flush_scenario.h"
#include "flush_vbucket/heap_growth.h"
#include "flush_vbucket/per_item_callback.h"
#include "flush_vbucket/per_transaction_callback.h"

namespace flush_vbucket {
namespace {

/// Passes commits to another store, and reads the heap use when a commit begins and ends.
class WatchingStore : public KVStore {
   public:
    WatchingStore(KVStore& store, bool isPeakRestarted) : store_{store}, isPeakRestarted_{isPeakRestarted} {}

    void commit(std::span<Document* const> documents, const VBucketState& state, const OnSaved& onSaved) override {
        if (isPeakRestarted_) {
            benchgate::restartPeak();
        }
        store_.commit(documents, state, onSaved);
        peakAfterCommit = benchgate::heapUse().peak;
    }
    [[nodiscard]] Contents readAll() const override { return store_.readAll(); }
    [[nodiscard]] VBucketState state() const override { return store_.state(); }

    std::int64_t peakAfterCommit = 0;

   private:
    KVStore& store_;
    bool isPeakRestarted_;
};

/// A flush's peak above its start: of all of it, since its commit began, and until its commit ended.
struct Peaks {
    std::int64_t whole = 0;
    std::int64_t sinceCommitBegan = 0;
    std::int64_t untilCommitEnded = 0;
};

template <typename Callback>
class Measurement {
   public:
    Measurement(Mode mode, std::size_t items)
        : scenario_{std::make_unique<FlusherOf<Callback>>(), StoreKind::AppendOnly, mode, items}, items_{items} {}

    std::int64_t peak() {
        HeapGrowth heap;
        scenario_.prepare();
        heap.start();
        EXPECT_EQ(scenario_.flush(), items_);
        heap.stop();
        return heap.peak();
    }

    Peaks peaks() {
        Peaks peaks;
        peaks.whole = peak();
        peaks.sinceCommitBegan = watched(true).first;
        peaks.untilCommitEnded = watched(false).second;
        return peaks;
    }

   private:
    /// Returns the peak of the flush, and the peak when its commit had ended.
    std::pair<std::int64_t, std::int64_t> watched(bool isPeakRestarted) {
        scenario_.prepare();
        WatchingStore store{scenario_.store(), isPeakRestarted};
        benchgate::restartPeak();
        const std::int64_t base = benchgate::heapUse().current;
        EXPECT_EQ(scenario_.flushWith(store), items_);
        return {benchgate::heapUse().peak - base, store.peakAfterCommit - base};
    }

    FlushScenario scenario_;
    std::size_t items_;
};

struct Case {
    Mode mode;
    std::int64_t items;
};

class FlushPeakTest : public testing::TestWithParam<Case> {
   protected:
    template <typename Callback>
    static Measurement<Callback> measurement() {
        return {GetParam().mode, static_cast<std::size_t>(GetParam().items)};
    }
};

INSTANTIATE_TEST_SUITE_P(All, FlushPeakTest,
                         testing::Values(Case{Mode::Insert, 1}, Case{Mode::Insert, 100}, Case{Mode::Insert, 10'000},
                                         Case{Mode::Replace, 1}, Case{Mode::Replace, 100}, Case{Mode::Replace, 10'000}),
                         [](const auto& info) {
                             return std::string{modeName(info.param.mode)} + std::to_string(info.param.items);
                         });

TEST_P(FlushPeakTest, TheVariantsDifferByTheCallbacksBlockAndTheLargerRequest) {
    const std::int64_t items = GetParam().items;
    // A node of the deque holds two requests, and the deque always has room for one more.
    const std::int64_t requestsInWholeNodes = 2 * (items / 2 + 1);
    EXPECT_EQ(measurement<PerItemCallback>().peak() - measurement<PerTransactionCallback>().peak(),
              16 * items + 32 * requestsInWholeNodes);
}

TEST_P(FlushPeakTest, EveryFlushNeedsTheSame) {
    auto measured = measurement<PerItemCallback>();
    const std::int64_t first = measured.peak();
    EXPECT_EQ(measured.peak(), first);
}

TEST_P(FlushPeakTest, ThePeakFallsAfterTheLastRequestWasMade) {
    const auto perItem = measurement<PerItemCallback>().peaks();
    const auto perTransaction = measurement<PerTransactionCallback>().peaks();
    EXPECT_EQ(perItem.sinceCommitBegan, perItem.whole);
    EXPECT_EQ(perTransaction.sinceCommitBegan, perTransaction.whole);
}

TEST_P(FlushPeakTest, ThePeakFallsBeforeTheFirstRequestIsGone) {
    const auto perItem = measurement<PerItemCallback>().peaks();
    const auto perTransaction = measurement<PerTransactionCallback>().peaks();
    EXPECT_EQ(perItem.untilCommitEnded, perItem.whole);
    EXPECT_EQ(perTransaction.untilCommitEnded, perTransaction.whole);
}

TEST(FlushMemoryTest, AFlushThatReplacesKeepsNoMemory) {
    FlushScenario scenario{std::make_unique<FlusherOf<PerTransactionCallback>>(), StoreKind::AppendOnly, Mode::Replace,
                           100};
    scenario.prepare();
    const std::int64_t before = benchgate::heapUse().current;
    scenario.flush();
    EXPECT_EQ(benchgate::heapUse().current, before);
}

}  // namespace
}  // namespace flush_vbucket
