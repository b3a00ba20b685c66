// SPDX-License-Identifier: Apache-2.0
#include "hash_table/table_statistics.h"

#include <gtest/gtest.h>

#include <barrier>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "harness/pinning.h"
#include "hash_table/make_items.h"
#include "hash_table/per_core_statistics.h"
#include "hash_table/per_llc_statistics.h"
#include "hash_table/reference_totals.h"
#include "hash_table/run_together.h"
#include "hash_table/selected_statistics.h"
#include "hash_table/single_statistics.h"

namespace hash_table {
namespace {

/// As many caches as CPUs, up to two, so that every variant except one has several stripes if the machine allows it.
benchgate::Topology twoCaches() { return benchgate::withLastLevelCaches(benchgate::readTopology(), 2); }

/// The first two CPUs that the process may use, each with a cache of its own. Whatever else the machine has, they count
/// in different stripes if the variant has several.
benchgate::Topology twoCpusApart() {
    benchgate::Topology topology;
    topology.cpus = {{.id = benchgate::cpuForThread(0), .core = 0, .lastLevelCache = 0},
                     {.id = benchgate::cpuForThread(1), .core = 1, .lastLevelCache = 1}};
    topology.cores = 2;
    topology.lastLevelCaches = 2;
    return topology;
}

template <typename Variant_, Stride stride_>
struct Layout {
    using Variant = Variant_;
    static constexpr Stride stride = stride_;
};

template <typename Case>
class TableStatisticsTest : public testing::Test {
   protected:
    using Statistics = TableStatistics<typename Case::Variant, Case::stride>;

    void come(const StoredValue& value) { statistics.epilogue(statistics.prologue(nullptr), &value); }
    void go(const StoredValue& value) { statistics.epilogue(statistics.prologue(&value), nullptr); }

    PerCoreCounter bucketMetaData{twoCaches()};
    Statistics statistics{twoCaches(), bucketMetaData};
};

using Layouts = testing::Types<Layout<SingleStatistics, Stride::Unpadded>, Layout<SingleStatistics, Stride::Padded>,
                               Layout<PerLlcStatistics, Stride::Unpadded>, Layout<PerLlcStatistics, Stride::Padded>,
                               Layout<PerCoreStatistics, Stride::Unpadded>, Layout<PerCoreStatistics, Stride::Padded>>;
TYPED_TEST_SUITE(TableStatisticsTest, Layouts);

TYPED_TEST(TableStatisticsTest, AreZeroAtFirst) {
    EXPECT_EQ(differenceBetween(Totals{}, this->statistics.totals()), std::nullopt);
}

TYPED_TEST(TableStatisticsTest, CountValuesThatComeChangeAndGo) {
    auto values = makeValues(0, 3);
    for (const auto& value : values) {
        this->come(*value);
    }
    const auto before = this->statistics.prologue(values[0].get());
    values[0]->eject();
    this->statistics.epilogue(before, values[0].get());
    this->go(*values[1]);

    Totals expected;
    countInReference(expected, *values[0]);
    countInReference(expected, *values[2]);
    EXPECT_EQ(differenceBetween(expected, this->statistics.totals()), std::nullopt);
}

TYPED_TEST(TableStatisticsTest, ResetSetsEveryCounterToZero) {
    StoredValue ejected{Item{.key = "key", .value = "value"}};
    ejected.eject();
    this->come(ejected);
    this->come(StoredValue{Item{.key = "key", .value = "value", .isDeleted = true}});
    this->come(StoredValue{Item{.key = "key", .value = "value", .isTemp = true}});
    this->come(StoredValue{Item{.key = "key", .value = "value", .isSystem = true}});
    this->come(StoredValue{Item{.key = "key", .value = "value", .isPending = true}});
    for (Datatype datatype = 0; datatype < datatypeCount; ++datatype) {
        this->come(StoredValue{Item{.key = "key", .value = "value", .datatype = datatype}});
    }
    const Totals before = this->statistics.totals();
    visitCounters(before, [](const std::string& name, std::int64_t total) { EXPECT_GT(total, 0) << name; });

    this->statistics.reset();

    EXPECT_EQ(differenceBetween(Totals{}, this->statistics.totals()), std::nullopt);
}

TYPED_TEST(TableStatisticsTest, MetaDataIsCountedForTheBucketAsWell) {
    const StoredValue value{Item{.key = "key", .value = "value"}};
    const auto bytes = static_cast<std::int64_t>(value.metaDataSize());

    this->come(value);
    EXPECT_EQ(this->bucketMetaData.total(), bytes);
    this->come(value);
    this->go(value);
    EXPECT_EQ(this->bucketMetaData.total(), bytes);
    this->statistics.reset();
    EXPECT_EQ(this->bucketMetaData.total(), 0);
}

TYPED_TEST(TableStatisticsTest, TheFirstStripeBeginsOnACacheLine) {
    const void* base = &this->statistics.stripe(0);
    std::size_t space = 2 * cacheLine;
    void* aligned = const_cast<void*>(base);  // NOLINT(cppcoreguidelines-pro-type-const-cast): std::align moves it
    std::align(cacheLine, 1, aligned, space);

    EXPECT_EQ(aligned, base);
}

TYPED_TEST(TableStatisticsTest, StripesLieOneStrideApart) {
    constexpr bool isPadded = TypeParam::stride == Stride::Padded;
    EXPECT_EQ(this->statistics.strideBytes, isPadded ? 192U : 144U);
    EXPECT_EQ(this->statistics.bytes(), this->statistics.strideBytes * this->statistics.stripeCount());
    if (this->statistics.stripeCount() > 1) {
        const auto* const first = static_cast<const void*>(&this->statistics.stripe(0));
        const auto* const second = static_cast<const void*>(&this->statistics.stripe(1));
        EXPECT_EQ(static_cast<const std::byte*>(second) - static_cast<const std::byte*>(first),
                  static_cast<std::ptrdiff_t>(this->statistics.strideBytes));
    }
}

TYPED_TEST(TableStatisticsTest, AValueThatComesOnOneCpuMayGoOnAnother) {
    if (benchgate::allowedCpus().size() < 2 || !benchgate::probePinning().isPermitted) {
        GTEST_SKIP() << "needs two CPUs";
    }
    const StoredValue value{Item{.key = "key", .value = "value"}};
    typename TestFixture::Statistics statistics{twoCpusApart(), this->bucketMetaData};
    std::jthread{[&] {
        benchgate::pinForGood(benchgate::cpuForThread(0));
        statistics.epilogue(statistics.prologue(nullptr), &value);
    }}.join();
    std::jthread{[&] {
        benchgate::pinForGood(benchgate::cpuForThread(1));
        statistics.epilogue(statistics.prologue(&value), nullptr);
    }}.join();

    EXPECT_EQ(differenceBetween(Totals{}, statistics.totals()), std::nullopt);
    if (statistics.stripeCount() > 1) {
        EXPECT_EQ(statistics.stripe(0).numItems.load(), 1);
        EXPECT_EQ(statistics.stripe(1).numItems.load(), -1);
    }
}

/// Each value comes on one thread and goes on the next one, in every round, all at the same time; the last round leaves
/// every second value.
template <typename Statistics>
void passRound(Statistics& statistics, const std::vector<std::vector<std::unique_ptr<StoredValue>>>& values) {
    constexpr int passes = 4;
    const auto threads = static_cast<int>(values.size());
    std::barrier step{threads};
    runTogether(threads, [&](int thread) {
        const auto& own = values[static_cast<std::size_t>(thread)];
        const auto& neighbours = values[static_cast<std::size_t>((thread + 1) % threads)];
        for (int pass = 1; pass <= passes; ++pass) {
            for (const auto& value : own) {
                statistics.epilogue(statistics.prologue(nullptr), value.get());
            }
            step.arrive_and_wait();
            for (std::size_t index = 0; index < neighbours.size(); index += pass == passes ? 2 : 1) {
                statistics.epilogue(statistics.prologue(neighbours[index].get()), nullptr);
            }
            step.arrive_and_wait();
        }
    });
}

TYPED_TEST(TableStatisticsTest, AreRightHoweverManyThreadsCountAtTheSameTime) {
    constexpr int valuesEach = 200;
    for (int threads = 1; threads <= 8; ++threads) {
        this->statistics.reset();
        std::vector<std::vector<std::unique_ptr<StoredValue>>> values;
        Totals expected;
        for (int thread = 0; thread < threads; ++thread) {
            values.push_back(makeValues(thread, valuesEach));
            for (std::size_t index = 1; index < valuesEach; index += 2) {
                countInReference(expected, *values.back()[index]);
            }
        }

        passRound(this->statistics, values);

        EXPECT_EQ(differenceBetween(expected, this->statistics.totals()), std::nullopt) << threads << " threads";
    }
}

TYPED_TEST(TableStatisticsTest, AValueSeenToGoButNotToComeIsReportedAsZero) {
    this->go(StoredValue{Item{.key = "key", .value = "value"}});

    EXPECT_EQ(differenceBetween(Totals{}, this->statistics.totals()), std::nullopt);
}

TYPED_TEST(TableStatisticsTest, AreNeverBelowZeroWhileOthersCount) {
    const auto values = makeValues(0, 500);
    const std::jthread counting{[&] {
        for (const auto& value : values) {
            this->come(*value);
            this->go(*value);
        }
    }};
    for (int look = 0; look < 200; ++look) {
        const Totals totals = this->statistics.totals();
        EXPECT_GE(totals.numItems, 0);
        EXPECT_GE(totals.memSize, 0);
    }
}

TEST(VariantsTest, HaveTheStripesThatTheirNameSays) {
    const auto topology = twoCaches();
    PerCoreCounter bucketMetaData{topology};
    const TableStatistics<SingleStatistics> single{topology, bucketMetaData};
    const TableStatistics<PerLlcStatistics> perLlc{topology, bucketMetaData};
    const TableStatistics<PerCoreStatistics> perCore{topology, bucketMetaData};

    EXPECT_EQ(single.bytes(), 144U);
    EXPECT_EQ(perLlc.bytes(), 144U * static_cast<std::size_t>(topology.lastLevelCaches));
    EXPECT_EQ(perCore.bytes(), 144U * topology.cpus.size());
}

TEST(VariantsTest, TheSelectedOneIsOneOfThem) {
    EXPECT_TRUE((std::is_same_v<SelectedStatistics, SingleStatistics> ||
                 std::is_same_v<SelectedStatistics, PerLlcStatistics> ||
                 std::is_same_v<SelectedStatistics, PerCoreStatistics>));
}

}  // namespace
}  // namespace hash_table
