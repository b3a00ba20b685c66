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

TEST(DescribeTopologyTest, CountsWhatThereIs) {
    Topology topology = cpusOf({0, 1});
    topology.cores = 2;
    topology.knowsCaches = true;

    EXPECT_EQ(describeTopology(topology), "2 CPUs, 2 cores, 1 last-level cache, 1 NUMA node");
}

TEST(DescribeTopologyTest, SaysThatCachesAreNotKnown) {
    EXPECT_EQ(describeTopology(cpusOf({0})), "1 CPU, 1 core, unknown last-level caches, 1 NUMA node");
}

}  // namespace
}  // namespace benchgate
