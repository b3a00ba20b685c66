// SPDX-License-Identifier: Apache-2.0
/// The cost of reporting one statistic to the owner, without a pool around it.
#include <chrono>

#include "executor/executor_benchmarks.h"
#include "executor/reference_check.h"
#include "executor/worlds.h"

namespace executor {
namespace {

using namespace std::chrono_literals;

constinit benchgate::WorldOwner<TaskStatsWorld> taskStatsOwner;

void logQTime(benchmark::State& state, TaskStatsWorld& world) {
    Taskable* taskable = world.taskable.get();
    for ([[maybe_unused]] auto _ : state) {
        // Hides the pointer's origin, so that the call stays virtual and the null variant's call is not removed.
        benchmark::DoNotOptimize(taskable);
        taskable->logQTime(TaskId::ItemPager, 1us);
    }
    state.SetItemsProcessed(state.iterations());
}

}  // namespace

void registerTaskStatsBenchmarks() {
    benchgate::registerChecked<taskStatsOwner>("TaskStatsBench/LogQTime", checkTaskable, logQTime);
}

}  // namespace executor
