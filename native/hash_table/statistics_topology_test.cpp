// SPDX-License-Identifier: Apache-2.0
#include "hash_table/statistics_topology.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "harness/pinning.h"

namespace hash_table {
namespace {

/// One test for both, because a chosen number applies for the rest of the program.
TEST(StatisticsTopologyTest, IsTheMachinesUntilSomethingElseIsChosen) {
    const auto usable = benchgate::onlyCpus(benchgate::readTopology(), benchgate::allowedCpus());
    EXPECT_EQ(statisticsTopology().lastLevelCaches, usable.lastLevelCaches);

    setLastLevelCaches("2");
    const auto chosen = statisticsTopology();

    EXPECT_EQ(chosen.lastLevelCaches, benchgate::withLastLevelCaches(usable, 2).lastLevelCaches);
    EXPECT_EQ(chosen.cpus.size(), usable.cpus.size());
}

class BadCacheCountTest : public testing::TestWithParam<const char*> {};

TEST_P(BadCacheCountTest, IsRefused) { EXPECT_THROW(setLastLevelCaches(GetParam()), std::invalid_argument); }

INSTANTIATE_TEST_SUITE_P(Texts, BadCacheCountTest,
                         testing::Values("", "0", "-1", "two", "2x", " 2", "1.5", "99999999999"));

}  // namespace
}  // namespace hash_table
