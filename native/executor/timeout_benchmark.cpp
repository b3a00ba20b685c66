// SPDX-License-Identifier: Apache-2.0
/// Benchmarks of timeouts that are moved again and again and never expire, as those of requests that are answered in
/// time.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <random>

#include "executor/executor_benchmarks.h"
#include "executor/reference_check.h"
#include "executor/worlds.h"

namespace executor {
namespace {

using std::chrono::milliseconds;

constexpr int maxTimeoutThreads = 16;
constexpr int fewestTimeouts = 1000;
constexpr int mostTimeouts = 30000;

/// A thread's own timeouts (every n-th of all) in turn, and delays of 10 to 30 s that are the same in every launch.
class Turn {
   public:
    Turn(const benchmark::State& state, std::size_t timeouts)
        : first_{static_cast<std::size_t>(state.thread_index())},
          step_{static_cast<std::size_t>(state.threads())},
          timeouts_{timeouts},
          next_{first_},
          random_{static_cast<std::minstd_rand::result_type>(state.thread_index() + 1)} {}

    std::size_t nextTimeout() {
        const auto current = next_;
        next_ = current + step_ < timeouts_ ? current + step_ : first_;
        return current;
    }

    milliseconds nextDelay() { return milliseconds{delay_(random_)}; }

   private:
    std::size_t first_;
    std::size_t step_;
    std::size_t timeouts_;
    std::size_t next_;
    std::minstd_rand random_;
    std::uniform_int_distribution<int> delay_{10'000, 30'000};
};

constinit benchgate::WorldOwner<PureFollyTimeoutWorld> timerThreadOwner;
constinit benchgate::WorldOwner<CB3TimeoutWorld> snoozeOwner;

void moveOnTimerThread(benchmark::State& state, PureFollyTimeoutWorld& world) {
    Turn turn{state, world.timeouts.size()};
    // The last iteration waits for the timer thread, so that the measured time includes all the requested work.
    auto left = state.max_iterations;
    for ([[maybe_unused]] auto _ : state) {
        Timeout& timeout = world.timeouts[turn.nextTimeout()];
        if (--left == 0) {
            world.timer.scheduleAndWait(timeout, turn.nextDelay());
        } else {
            world.timer.schedule(timeout, turn.nextDelay());
        }
    }
    state.SetItemsProcessed(state.iterations());
    if (std::any_of(world.timeouts.begin(), world.timeouts.end(),
                    [](const Timeout& timeout) { return timeout.hasExpired(); })) {
        benchgate::rejectTime(state, "a timeout expired before its time");
    }
}

void snoozeInSingleLockPool(benchmark::State& state, CB3TimeoutWorld& world) {
    Turn turn{state, world.timeouts.size()};
    bool isMoved = true;
    for ([[maybe_unused]] auto _ : state) {
        isMoved = world.pool.snooze(world.timeouts[turn.nextTimeout()], turn.nextDelay()) && isMoved;
    }
    state.SetItemsProcessed(state.iterations());
    if (!isMoved || world.hasFired) {
        benchgate::rejectTime(state, "a timeout expired before its time");
    }
}

void setRanges(benchgate::Registered* registered) {
    registered->ArgName("Timeouts")
        ->Range(fewestTimeouts, mostTimeouts)
        ->ThreadRange(1, maxTimeoutThreads)
        ->UseRealTime();
}

}  // namespace

void registerTimeoutBenchmarks() {
    setRanges(benchgate::registerChecked<snoozeOwner>("CB3ExecutorPoolBench/TimeoutAddCancel", checkCB3Timeouts,
                                                      snoozeInSingleLockPool));
    setRanges(benchgate::registerChecked<timerThreadOwner>("PureFollyExecutorBench/TimeoutAddCancel",
                                                           checkPureFollyTimeouts, moveOnTimerThread));
}

}  // namespace executor
