// SPDX-License-Identifier: Apache-2.0
/// Benchmarks in which each thread hands one task at a time to the pool and waits until it has run.
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "executor/baton.h"
#include "executor/executor_benchmarks.h"
#include "executor/reference_check.h"
#include "executor/worlds.h"

namespace executor {
namespace {

constexpr int maxThreads = 16;

/// One benchmark thread's side of the hand-off.
class HandOff {
   public:
    /// Runs on a worker.
    void produce() {
        produced_.fetch_add(1, std::memory_order_relaxed);
        done_.post();
    }

    /// Waits for produce(). Returns false if the task did not run exactly once.
    bool consume() {
        ++consumed_;
        parked_ += done_.wait() ? 1 : 0;
        done_.reset();
        return produced_.load(std::memory_order_relaxed) == consumed_;
    }

    /// Reports items per second, and the share of waits that went beyond spinning.
    void report(benchmark::State& state) const {
        state.SetItemsProcessed(consumed_);
        state.counters["ParkedPerItem"] =
            benchmark::Counter(static_cast<double>(parked_), benchmark::Counter::kAvgIterations);
    }

   private:
    Baton done_;
    std::atomic<std::int64_t> produced_{0};
    std::int64_t consumed_ = 0;
    std::int64_t parked_ = 0;
};

class OneShotTask : public RecurringTask {
   public:
    OneShotTask(Taskable& owner, HandOff& handOff) : RecurringTask{owner, TaskId::ItemPager, 0}, handOff_{handOff} {}

    std::optional<Clock::duration> run() override {
        handOff_.produce();
        return std::nullopt;
    }

   private:
    HandOff& handOff_;
};

constinit benchgate::WorldOwner<PureFollyWorld> threadPoolOwner;
constinit benchgate::WorldOwner<CB3World> singleLockPoolOwner;

void runInThreadPool(benchmark::State& state, PureFollyWorld& world) {
    HandOff handOff;
    for ([[maybe_unused]] auto _ : state) {
        world.cpu.add([&handOff] { handOff.produce(); });
        if (!handOff.consume()) {
            benchgate::rejectTime(state, "a task did not run exactly once");
            break;
        }
    }
    handOff.report(state);
}

void runInSingleLockPool(benchmark::State& state, CB3World& world) {
    HandOff handOff;
    for ([[maybe_unused]] auto _ : state) {
        world.pool.schedule(std::make_shared<OneShotTask>(*world.taskable, handOff), WorkerKind::NonIO);
        if (!handOff.consume()) {
            benchgate::rejectTime(state, "a task did not run exactly once");
            break;
        }
    }
    handOff.report(state);
}

}  // namespace

void registerOneShotBenchmarks() {
    benchgate::registerChecked<singleLockPoolOwner>("CB3ExecutorPoolBench/OneShotScheduleRun", checkCB3OneShot,
                                                    runInSingleLockPool)
        ->ThreadRange(1, maxThreads)
        ->UseRealTime();
    benchgate::registerChecked<threadPoolOwner>("PureFollyExecutorBench/OneShotScheduleRun", checkPureFollyOneShot,
                                                runInThreadPool)
        ->ThreadRange(1, maxThreads)
        ->UseRealTime();
}

}  // namespace executor
