// SPDX-License-Identifier: Apache-2.0
/// The worlds of this suite: a table with the selected statistics, or the statistics alone.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "harness/topology.h"
#include "hash_table/hash_table.h"
#include "hash_table/item.h"
#include "hash_table/make_items.h"
#include "hash_table/selected_statistics.h"
#include "hash_table/statistics_topology.h"

namespace hash_table {

/// Fixed, because each thread uses each of its items exactly once.
constexpr int itemsPerThread = 100'000;

using SelectedTable = HashTable<SelectedStatistics>;

/// An empty table with a bucket for each item of one thread, and every thread's own items.
struct EmptyTableWorld {
    explicit EmptyTableWorld(int threads);
    explicit EmptyTableWorld(const benchmark::State& state) : EmptyTableWorld{state.threads()} {}

    std::vector<std::vector<Item>> items;
    PerCoreCounter bucketMetaData;
    SelectedTable table;
};

/// A table that holds every thread's items.
struct FullTableWorld : EmptyTableWorld {
    explicit FullTableWorld(const benchmark::State& state);
};

/// A table that holds the items of thread 0, which all threads look for; half of them also have a pending SyncWrite.
struct SharedTableWorld : EmptyTableWorld {
    explicit SharedTableWorld(const benchmark::State& state);
};

/// Statistics without a table, and every thread's own values.
template <Stride stride>
struct StatisticsWorld {
    explicit StatisticsWorld(int threads, int valuesPerThread = itemsPerThread)
        : topology{statisticsTopology()}, bucketMetaData{topology}, statistics{topology, bucketMetaData} {
        for (int thread = 0; thread < threads; ++thread) {
            values.push_back(makeValues(thread, valuesPerThread));
        }
    }
    explicit StatisticsWorld(const benchmark::State& state) : StatisticsWorld{state.threads()} {}

    benchgate::Topology topology;
    std::vector<std::vector<std::unique_ptr<StoredValue>>> values;
    PerCoreCounter bucketMetaData;
    TableStatistics<SelectedStatistics, stride> statistics;
};

}  // namespace hash_table
