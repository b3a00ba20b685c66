// SPDX-License-Identifier: Apache-2.0
/// A flush of a vbucket's mutations to the disk: the time it takes, and how much heap it needs.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "flush_vbucket/flush_scenario.h"
#include "flush_vbucket/flush_vbucket_benchmarks.h"
#include "flush_vbucket/flusher.h"
#include "flush_vbucket/heap_growth.h"
#include "flush_vbucket/reference_check.h"

namespace flush_vbucket {
namespace {

/// The number of items that are prepared while the timer is paused. A pause adds about 0.23 µs to the measured time,
/// but a flush of one item takes only 1.5 µs on a file system in memory, so small flushes share a pause. With many more
/// than 16, the first ones would have left the caches before they are flushed.
constexpr std::size_t itemsPerPause = 16;

/// Arguments: store, items, mode.
struct FlushWorld {
    explicit FlushWorld(const benchmark::State& state)
        : kind{static_cast<StoreKind>(state.range(0))},
          mode{static_cast<Mode>(state.range(2))},
          items{static_cast<std::size_t>(state.range(1))} {
        const std::size_t count = std::max<std::size_t>(1, itemsPerPause / items);
        scenarios.reserve(count);
        while (scenarios.size() < count) {
            scenarios.emplace_back(makeFlusher(), kind, mode, items);
        }
    }

    StoreKind kind;
    Mode mode;
    std::size_t items;
    /// Prepared together while the timer is paused, then flushed one after the other.
    std::vector<FlushScenario> scenarios;
};

constinit benchgate::WorldOwner<FlushWorld> flushOwner;

void flushVBucket(benchmark::State& state, FlushWorld& world) {
    HeapGrowth heap;
    const std::size_t flushes = world.scenarios.size();
    while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(flushes))) {
        state.PauseTiming();
        for (FlushScenario& scenario : world.scenarios) {
            scenario.prepare();
        }
        state.ResumeTiming();
        std::size_t flushed = 0;
        for (FlushScenario& scenario : world.scenarios) {
            heap.start();
            flushed += scenario.flush();
            heap.stop();
        }
        if (flushed != world.items * flushes) {
            benchgate::rejectTime(state, "not every item was flushed");
            break;
        }
    }
    const auto items = static_cast<double>(world.items);
    const auto peak = static_cast<double>(heap.peak());
    state.counters["PeakFlushBytes"] = peak;
    state.counters["PeakBytesPerItem"] = peak / items;
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(world.items));
    state.SetLabel("store:" + std::string{storeName(world.kind)} + " mode:" + std::string{modeName(world.mode)});
}

}  // namespace

void registerFlushBenchmarks() {
    for (const StoreKind kind : availableStores()) {
        const auto check = [kind](int /*threads*/) { return checkFlush(*makeFlusher(), kind); };
        auto* registered =
            benchgate::registerChecked<flushOwner>("MemTrackingVBucketBench/FlushVBucket", check, flushVBucket);
        for (const int items : {1, 100, 10'000, 1'000'000}) {
            for (const Mode mode : {Mode::Insert, Mode::Replace}) {
                registered->Args({static_cast<int>(kind), items, static_cast<int>(mode)});
            }
        }
    }
}

}  // namespace flush_vbucket
