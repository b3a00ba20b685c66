// SPDX-License-Identifier: Apache-2.0
/// The worlds of this suite: the selected owner of tasks, and the pool that reports to it.
#pragma once

#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "executor/single_lock_pool.h"
#include "executor/taskable.h"
#include "executor/thread_pool.h"
#include "executor/timer_thread.h"

namespace executor {

/// An owner without a pool.
struct TaskStatsWorld {
    explicit TaskStatsWorld(const benchmark::State& state);

    std::unique_ptr<Taskable> taskable;
};

/// A pool with one CPU worker per benchmark thread, and one without workers for IO. Both report each task to the owner,
/// and nothing else uses the owner.
struct PureFollyWorld {
    explicit PureFollyWorld(int threads);
    explicit PureFollyWorld(const benchmark::State& state) : PureFollyWorld{state.threads()} {}

    std::unique_ptr<Taskable> taskable;
    ThreadPool cpu;
    ThreadPool io;
};

/// A pool with one NonIO worker per benchmark thread, and one worker of each other kind, because every kind needs one.
struct CB3World {
    explicit CB3World(int threads);
    explicit CB3World(const benchmark::State& state) : CB3World{state.threads()} {}

    std::unique_ptr<Taskable> taskable;
    SingleLockPool pool;
};

/// The `Timeouts` timeouts of a benchmark, on a timer thread.
struct PureFollyTimeoutWorld {
    explicit PureFollyTimeoutWorld(std::size_t count) : timeouts(count) {}
    explicit PureFollyTimeoutWorld(const benchmark::State& state);

    std::vector<Timeout> timeouts;
    TimerThread timer;
};

/// The `Timeouts` timeouts of a benchmark, as sleeping tasks in the single-lock pool.
struct CB3TimeoutWorld {
    CB3TimeoutWorld(int threads, std::size_t count);
    explicit CB3TimeoutWorld(const benchmark::State& state);

    std::unique_ptr<Taskable> taskable;
    std::atomic<bool> hasFired{false};
    std::vector<TaskHandle> timeouts;
    SingleLockPool pool;
};

}  // namespace executor
