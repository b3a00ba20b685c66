#include "hash_table/statistics_topology.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace hash_table {
namespace {

/// In this order: what was chosen stays chosen for the rest of the program.
TEST(StatisticsTopologyTest, IsTheMachinesUntilSomethingElseIsChosen) {
    EXPECT_EQ(statisticsTopology().lastLevelCaches, benchgate::readTopology().lastLevelCaches);

    setLastLevelCaches("2");
    const auto chosen = statisticsTopology();

    EXPECT_EQ(chosen.lastLevelCaches, benchgate::withLastLevelCaches(benchgate::readTopology(), 2).lastLevelCaches);
    EXPECT_EQ(chosen.cpus.size(), benchgate::readTopology().cpus.size());
}

class BadCacheCountTest : public testing::TestWithParam<const char*> {};

TEST_P(BadCacheCountTest, IsRefused) { EXPECT_THROW(setLastLevelCaches(GetParam()), std::invalid_argument); }

INSTANTIATE_TEST_SUITE_P(Texts, BadCacheCountTest,
                         testing::Values("", "0", "-1", "two", "2x", " 2", "1.5", "99999999999"));

}  // namespace
}  // namespace hash_table
