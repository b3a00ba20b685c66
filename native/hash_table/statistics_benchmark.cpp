// SPDX-License-Identifier: Apache-2.0
/// Benchmarks of the statistics alone: each thread counts values that come, without a table and without a lock.
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "hash_table/hash_table_benchmarks.h"
#include "hash_table/reference_check.h"
#include "hash_table/worlds.h"

namespace hash_table {
namespace {

template <Stride stride>
constinit benchgate::WorldOwner<StatisticsWorld<stride>> statisticsOwner;

/// Reads each value once, so that this CPU's caches hold as much of them as they can.
void touch(const std::vector<std::unique_ptr<StoredValue>>& values) {
    std::size_t bytes = 0;
    for (const auto& value : values) {
        bytes += propertiesOf(value.get()).size;
    }
    benchmark::DoNotOptimize(bytes);
}

template <Stride stride>
void epilogue(benchmark::State& state, StatisticsWorld<stride>& world) {
    const auto& values = world.values[static_cast<std::size_t>(state.thread_index())];
    touch(values);
    auto value = values.begin();
    for ([[maybe_unused]] auto _ : state) {
        const auto empty = world.statistics.prologue(nullptr);
        world.statistics.epilogue(empty, (value++)->get());
    }
    state.SetItemsProcessed(state.iterations());
    state.counters["StatsBytes"] =
        benchmark::Counter(static_cast<double>(world.statistics.bytes()), benchmark::Counter::kAvgThreads);
}

template <Stride stride>
void registerEpilogue(const std::string& name) {
    setThreads(benchgate::registerChecked<statisticsOwner<stride>>(name, checkStatistics<stride>, epilogue<stride>));
}

}  // namespace

void registerStatisticsBenchmarks() {
    registerEpilogue<Stride::Unpadded>("HashTableBench/HTStatsEpilogue");
    registerEpilogue<Stride::Padded>("HashTableBench/HTStatsEpiloguePadded");
}

}  // namespace hash_table
