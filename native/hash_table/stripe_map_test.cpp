// SPDX-License-Identifier: Apache-2.0
#include "hash_table/stripe_map.h"

#include <gtest/gtest.h>

#include "harness/pinning.h"

namespace hash_table {
namespace {

/// Four CPUs with a gap in their numbers; the last two share a cache.
benchgate::Topology fourCpus() {
    benchgate::Topology topology;
    topology.cpus = {{.id = 0, .core = 0, .lastLevelCache = 0},
                     {.id = 1, .core = 1, .lastLevelCache = 0},
                     {.id = 4, .core = 2, .lastLevelCache = 1},
                     {.id = 5, .core = 3, .lastLevelCache = 1}};
    topology.cores = 4;
    topology.lastLevelCaches = 2;
    return topology;
}

TEST(StripeMapTest, PerCpuEachHasItsOwn) {
    const StripeMap map = StripeMap::perCpu(fourCpus());

    EXPECT_EQ(map.count(), 4U);
    EXPECT_EQ(map.ofCpu(0), 0U);
    EXPECT_EQ(map.ofCpu(1), 1U);
    EXPECT_EQ(map.ofCpu(4), 2U);
    EXPECT_EQ(map.ofCpu(5), 3U);
}

TEST(StripeMapTest, PerLastLevelCacheThoseThatShareACacheShareAStripe) {
    const StripeMap map = StripeMap::perLastLevelCache(fourCpus());

    EXPECT_EQ(map.count(), 2U);
    EXPECT_EQ(map.ofCpu(0), map.ofCpu(1));
    EXPECT_EQ(map.ofCpu(4), map.ofCpu(5));
    EXPECT_NE(map.ofCpu(0), map.ofCpu(4));
}

TEST(StripeMapTest, ACpuThatWasOfflineStillHasAStripe) {
    const StripeMap map = StripeMap::perCpu(fourCpus());

    EXPECT_LT(map.ofCpu(2), map.count());
    EXPECT_LT(map.ofCpu(1000), map.count());
}

TEST(StripeMapTest, TheStripeOfTheCallerIsThatOfItsCpu) {
    const benchgate::ScopedPin pin{benchgate::cpuForThread(1)};
    if (!pin.isPinned()) {
        GTEST_SKIP() << "this system does not let a thread choose its CPU";
    }
    for (int call = 0; call < callsPerLookup; ++call) {
        currentCpu();
    }
    const StripeMap map = StripeMap::perCpu(benchgate::readTopology());

    EXPECT_EQ(map.current(), map.ofCpu(static_cast<std::size_t>(benchgate::cpuForThread(1))));
}

TEST(OnlyStripeTest, IsTheSameForAll) {
    EXPECT_EQ(OnlyStripe::count(), 1U);
    EXPECT_EQ(OnlyStripe::current(), 0U);
}

TEST(CurrentCpuTest, FollowsAThreadThatMovedAfterSomeCalls) {
    if (benchgate::allowedCpus().size() < 2 || !benchgate::probePinning().isPermitted) {
        GTEST_SKIP() << "needs two CPUs to move between";
    }
    for (const int thread : {0, 1, 0}) {
        const benchgate::ScopedPin pin{benchgate::cpuForThread(thread)};
        for (int call = 0; call < callsPerLookup; ++call) {
            currentCpu();
        }
        EXPECT_EQ(currentCpu(), static_cast<std::size_t>(benchgate::cpuForThread(thread)));
    }
}

}  // namespace
}  // namespace hash_table
