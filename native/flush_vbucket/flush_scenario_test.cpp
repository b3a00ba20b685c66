// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/flush_scenario.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "flush_vbucket/flusher.h"

namespace flush_vbucket {
namespace {

constexpr std::size_t items = 10;

FlushScenario scenarioOf(Mode mode) { return {makeFlusher(), StoreKind::AppendOnly, mode, items}; }

TEST(FlushScenarioTest, InsertingFindsAnEmptyStoreEachTime) {
    auto scenario = scenarioOf(Mode::Insert);
    for (int round = 0; round < 2; ++round) {
        scenario.prepare();
        EXPECT_TRUE(scenario.store().readAll().empty());
        EXPECT_EQ(scenario.flush(), items);
        EXPECT_EQ(scenario.vbucket().stats().opsCreate, 10);
    }
}

TEST(FlushScenarioTest, ReplacingFindsEveryKeyOnDisk) {
    auto scenario = scenarioOf(Mode::Replace);
    for (int round = 1; round <= 2; ++round) {
        scenario.prepare();
        EXPECT_EQ(scenario.store().readAll().size(), items);
        EXPECT_EQ(scenario.flush(), items);
        EXPECT_EQ(scenario.vbucket().stats().opsUpdate, 10 * round);
    }
    EXPECT_EQ(scenario.vbucket().stats().opsCreate, 10);
}

TEST(FlushScenarioTest, EveryCaseIsOneTransaction) {
    EXPECT_GE(Flusher::defaultBatchItems, 1'000'000U);
    EXPECT_EQ(Flusher::defaultBatchItems % CheckpointQueue::defaultCheckpointItems, 0U);
}

TEST(QueueDirtyItemsTest, EveryTenthItemRepeatsAnEarlierKey) {
    const auto queued = itemsWithDuplicates(1000);
    std::set<std::string> keys;
    for (std::size_t number = 0; number < queued.size(); ++number) {
        EXPECT_EQ(keys.insert(queued[number]->key).second, (number + 1) % 10 != 0) << number;
    }
}

TEST(QueueDirtyItemsTest, TheItemsAreTheSameInEveryLaunch) {
    const auto first = itemsWithDuplicates(100);
    const auto second = itemsWithDuplicates(100);
    for (std::size_t number = 0; number < first.size(); ++number) {
        EXPECT_EQ(first[number]->key, second[number]->key);
    }
}

}  // namespace
}  // namespace flush_vbucket
