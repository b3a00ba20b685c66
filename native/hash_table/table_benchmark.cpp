// SPDX-License-Identifier: Apache-2.0
/// Benchmarks of the table's operations, with every CPU doing the same one.
#include <cstddef>
#include <utility>
#include <vector>

#include "hash_table/hash_table_benchmarks.h"
#include "hash_table/reference_check.h"
#include "hash_table/worlds.h"

namespace hash_table {
namespace {

constinit benchgate::WorldOwner<EmptyTableWorld> emptyTableOwner;
constinit benchgate::WorldOwner<FullTableWorld> fullTableOwner;
constinit benchgate::WorldOwner<SharedTableWorld> sharedTableOwner;

const std::vector<Item>& ownItems(const benchmark::State& state, const EmptyTableWorld& world) {
    return world.items[static_cast<std::size_t>(state.thread_index())];
}

void report(benchmark::State& state, const EmptyTableWorld& world, bool isRight) {
    state.SetItemsProcessed(state.iterations());
    state.counters["StatsBytes"] =
        benchmark::Counter(static_cast<double>(world.table.statisticsBytes()), benchmark::Counter::kAvgThreads);
    if (!isRight) {
        benchgate::rejectTime(state, "the table gave another answer than the reference");
    }
}

void insert(benchmark::State& state, EmptyTableWorld& world) {
    auto item = ownItems(state, world).begin();
    bool isRight = true;
    for ([[maybe_unused]] auto _ : state) {
        isRight = world.table.set(*item++) == MutationStatus::WasClean && isRight;
    }
    report(state, world, isRight);
}

void replace(benchmark::State& state, FullTableWorld& world) {
    auto item = ownItems(state, world).begin();
    bool isRight = true;
    for ([[maybe_unused]] auto _ : state) {
        isRight = world.table.set(*item++) == MutationStatus::WasDirty && isRight;
    }
    report(state, world, isRight);
}

void deleteItems(benchmark::State& state, FullTableWorld& world) {
    auto item = ownItems(state, world).begin();
    for ([[maybe_unused]] auto _ : state) {
        auto found = world.table.findForWrite((item++)->key);
        if (found.value == nullptr) {
            benchgate::rejectTime(state, "an item is missing");
            break;
        }
        world.table.remove(std::move(found));
    }
    report(state, world, true);
}

void findForRead(benchmark::State& state, SharedTableWorld& world) {
    auto item = world.items.front().begin();
    bool isRight = true;
    for ([[maybe_unused]] auto _ : state) {
        isRight = world.table.findForRead((item++)->key).value != nullptr && isRight;
    }
    report(state, world, isRight);
}

void findForWrite(benchmark::State& state, SharedTableWorld& world) {
    auto item = world.items.front().begin();
    bool isRight = true;
    for ([[maybe_unused]] auto _ : state) {
        isRight = world.table.findForWrite((item++)->key).value != nullptr && isRight;
    }
    report(state, world, isRight);
}

}  // namespace

void registerTableBenchmarks() {
    setThreads(benchgate::registerChecked<emptyTableOwner>("HashTableBench/Insert", checkTable, insert));
    setThreads(benchgate::registerChecked<fullTableOwner>("HashTableBench/Replace", checkTable, replace));
    setThreads(benchgate::registerChecked<fullTableOwner>("HashTableBench/Delete", checkTable, deleteItems));
    setThreads(benchgate::registerChecked<sharedTableOwner>("HashTableBench/FindForRead", checkTable, findForRead));
    setThreads(benchgate::registerChecked<sharedTableOwner>("HashTableBench/FindForWrite", checkTable, findForWrite));
}

}  // namespace hash_table
