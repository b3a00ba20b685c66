// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/topology.h"

namespace benchgate {
namespace {

Topology cpusOf(const std::vector<int>& cores) {
    Topology topology;
    for (const int core : cores) {
        topology.cpus.push_back({.id = static_cast<int>(topology.cpus.size()), .core = core});
    }
    return topology;
}

std::vector<int> cachesOf(const Topology& topology) {
    std::vector<int> caches;
    for (const Cpu& cpu : topology.cpus) {
        caches.push_back(cpu.lastLevelCache);
    }
    return caches;
}

TEST(WithLastLevelCachesTest, NeighboursStayTogether) {
    const Topology topology = withLastLevelCaches(cpusOf({0, 1, 2, 3, 4}), 2);

    EXPECT_EQ(cachesOf(topology), (std::vector<int>{0, 0, 0, 1, 1}));
    EXPECT_EQ(topology.lastLevelCaches, 2);
    EXPECT_TRUE(topology.knowsCaches);
}

TEST(WithLastLevelCachesTest, TheCpusOfACoreStayTogether) {
    EXPECT_EQ(cachesOf(withLastLevelCaches(cpusOf({0, 1, 0, 1}), 2)), (std::vector<int>{0, 1, 0, 1}));
}

TEST(WithLastLevelCachesTest, TheCpusOfARealCacheStayTogether) {
    Topology topology = cpusOf({0, 1, 2, 3});
    topology.cpus[1].lastLevelCache = 1;
    topology.cpus[3].lastLevelCache = 1;

    EXPECT_EQ(cachesOf(withLastLevelCaches(topology, 2)), (std::vector<int>{0, 1, 0, 1}));
}

TEST(WithLastLevelCachesTest, ThereAreAtMostAsManyAsCpus) {
    const Topology topology = withLastLevelCaches(cpusOf({0, 1}), 5);

    EXPECT_EQ(cachesOf(topology), (std::vector<int>{0, 1}));
    EXPECT_EQ(topology.lastLevelCaches, 2);
}

TEST(WithLastLevelCachesTest, ThereIsAtLeastOne) {
    EXPECT_EQ(withLastLevelCaches(cpusOf({0, 1}), 0).lastLevelCaches, 1);
    EXPECT_EQ(cachesOf(withLastLevelCaches(cpusOf({0, 1}), -3)), (std::vector<int>{0, 0}));
}

/// Four cores of two threads each, two caches: CPUs 0 to 7 on cores 0 1 2 3 0 1 2 3 and caches 0 0 1 1 0 0 1 1.
Topology twoCaches() {
    Topology topology = cpusOf({0, 1, 2, 3, 0, 1, 2, 3});
    for (Cpu& cpu : topology.cpus) {
        cpu.lastLevelCache = cpu.core / 2;
        cpu.node = cpu.core / 2;
    }
    topology.cores = 4;
    topology.lastLevelCaches = 2;
    topology.nodes = 2;
    topology.threadsPerCore = 2;
    topology.knowsCaches = true;
    return topology;
}

TEST(OnlyCpusTest, TheRemainingCpusAreNumberedWithoutGaps) {
    const Topology left = onlyCpus(twoCaches(), {2, 3});

    ASSERT_EQ(left.cpus.size(), 2U);
    EXPECT_EQ(left.cpus[0].id, 2);
    EXPECT_EQ(left.cpus[0].core, 0);
    EXPECT_EQ(left.cpus[1].core, 1);
    EXPECT_EQ(cachesOf(left), (std::vector<int>{0, 0}));
    EXPECT_EQ(left.cores, 2);
    EXPECT_EQ(left.lastLevelCaches, 1);
    EXPECT_EQ(left.nodes, 1);
    EXPECT_EQ(left.threadsPerCore, 1);
    EXPECT_TRUE(left.knowsCaches);
}

TEST(OnlyCpusTest, BothThreadsOfACoreKeepIt) {
    const Topology left = onlyCpus(twoCaches(), {3, 7});

    EXPECT_EQ(left.cores, 1);
    EXPECT_EQ(left.threadsPerCore, 2);
}

TEST(OnlyCpusTest, TwoOfManyCpusCanStillBeGivenACacheEach) {
    EXPECT_EQ(cachesOf(withLastLevelCaches(onlyCpus(twoCaches(), {6, 7}), 2)), (std::vector<int>{0, 1}));
}

TEST(OnlyCpusTest, UnknownCpusAreLeftOutAndNoneAtAllChangesNothing) {
    EXPECT_EQ(onlyCpus(twoCaches(), {1, 99}).cpus.size(), 1U);
    EXPECT_EQ(onlyCpus(twoCaches(), {99}).cpus.size(), 8U);
}

TEST(DescribeTopologyTest, CountsCpusCoresCachesAndNodes) {
    Topology topology = cpusOf({0, 1});
    topology.cores = 2;
    topology.knowsCaches = true;

    EXPECT_EQ(describeTopology(topology), "2 CPUs, 2 cores, 1 last-level cache, 1 NUMA node");
}

TEST(DescribeTopologyTest, ReportsUnknownCaches) {
    EXPECT_EQ(describeTopology(cpusOf({0})), "1 CPU, 1 core, unknown last-level caches, 1 NUMA node");
}

}  // namespace
}  // namespace benchgate
