// SPDX-License-Identifier: Apache-2.0
/// Benchmarks made of work in equal items; the knob sets how many items an iteration does.
///
/// A `Work` is default-constructible and has `baseItems`, the items per iteration at the knob's 0; `doItems(n)`, which
/// does exactly n more items and returns a sum over them; and `reference(n)`, which computes the sum of the first n
/// items of a new `Work` in another way.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "harness/checked_benchmark.h"
#include "known_effects/knob.h"

namespace known_effects {

/// A position that cycles through a fixed number of places and is kept from one iteration to the next.
class Turn {
   public:
    explicit Turn(std::size_t places) : places_{places} {}

    /// Returns 0, 1, … `places` - 1, then starts again.
    std::size_t next() {
        const std::size_t current = next_;
        next_ = current + 1 < places_ ? current + 1 : 0;
        return current;
    }

   private:
    std::size_t places_;
    std::size_t next_ = 0;
};

template <typename Work>
struct WorkWorld {
    explicit WorkWorld(const benchmark::State& /*state*/) {}

    Work work;
};

template <typename Work>
inline constinit benchgate::WorldOwner<WorkWorld<Work>> workOwner;

/// Checks that the items of a timed iteration add up to the reference.
template <typename Work>
benchgate::Mismatch checkWork(int /*threads*/) {
    const std::int64_t items = itemsPerIteration(Work::baseItems);
    Work work;
    return benchgate::compare("sum over the items", Work::reference(items), work.doItems(items));
}

/// Reports the items at the knob's 0 as processed, however many were done, so that items per second fall by the effect.
/// `WorkItems` counts the items that each thread did in an iteration.
template <typename Work>
void measureWork(benchmark::State& state, WorkWorld<Work>& world) {
    static_assert(Work::baseItems % itemsGrain == 0);
    const std::int64_t items = itemsPerIteration(Work::baseItems);
    for ([[maybe_unused]] auto _ : state) {
        benchmark::DoNotOptimize(world.work.doItems(items));
    }
    state.SetItemsProcessed(state.iterations() * Work::baseItems);
    state.counters["WorkItems"] = benchmark::Counter(static_cast<double>(items), benchmark::Counter::kAvgThreads);
}

template <typename Work>
benchgate::Registered* registerWork(const std::string& name, benchgate::Check check = checkWork<Work>) {
    return benchgate::registerChecked<workOwner<Work>>(name, std::move(check), measureWork<Work>);
}

}  // namespace known_effects
