// SPDX-License-Identifier: Apache-2.0
/// Queueing mutations for the disk, of which every tenth repeats an earlier key: the time it takes, and the queue's
/// heap.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "flush_vbucket/flush_scenario.h"
#include "flush_vbucket/flush_vbucket_benchmarks.h"
#include "flush_vbucket/heap_growth.h"
#include "flush_vbucket/reference_check.h"
#include "flush_vbucket/vbucket.h"

namespace flush_vbucket {
namespace {

/// Arguments: store, which this benchmark does not write to, and items.
struct QueueDirtyWorld {
    explicit QueueDirtyWorld(const benchmark::State& state)
        : kind{static_cast<StoreKind>(state.range(0))},
          items{itemsWithDuplicates(static_cast<std::size_t>(state.range(1)))} {}

    StoreKind kind;
    std::vector<QueuedItem> items;
    std::unique_ptr<VBucket> vbucket;
};

constinit benchgate::WorldOwner<QueueDirtyWorld> queueDirtyOwner;

void queueDirty(benchmark::State& state, QueueDirtyWorld& world) {
    HeapGrowth heap;
    for ([[maybe_unused]] auto _ : state) {
        state.PauseTiming();
        world.vbucket = std::make_unique<VBucket>(world.items.size());
        heap.start();
        state.ResumeTiming();
        for (const auto& item : world.items) {
            world.vbucket->queueDirty(item);
        }
        heap.stop();
    }
    const auto peak = static_cast<double>(heap.peak());
    state.counters["PeakQueueBytes"] = peak;
    state.counters["PeakBytesPerItem"] = peak / static_cast<double>(world.items.size());
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(world.items.size()));
    state.SetLabel("store:" + std::string{storeName(world.kind)});
}

}  // namespace

void registerQueueDirtyBenchmarks() {
    const auto check = [](int /*threads*/) { return checkQueueDirty(); };
    auto* registered =
        benchgate::registerChecked<queueDirtyOwner>("MemTrackingVBucketBench/QueueDirty", check, queueDirty);
    for (const StoreKind kind : availableStores()) {
        for (const int items : {100, 10'000, 1'000'000}) {
            registered->Args({static_cast<int>(kind), items});
        }
    }
}

}  // namespace flush_vbucket
