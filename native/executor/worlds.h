// SPDX-License-Identifier: Apache-2.0
/// What the threads of a benchmark share: the selected owner of tasks, and the pool that serves it.
#pragma once

#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "executor/single_lock_pool.h"
#include "executor/taskable.h"
#include "executor/thread_pool.h"
#include "executor/timer_thread.h"

namespace executor {

/// The owner alone.
struct TaskStatsWorld {
    explicit TaskStatsWorld(const benchmark::State& state);

    std::unique_ptr<Taskable> taskable;
};

/// One CPU worker per benchmark thread and no IO worker; both pools tell the owner how each task fared, which is the
/// only use of the owner.
struct PureFollyWorld {
    explicit PureFollyWorld(int threads);
    explicit PureFollyWorld(const benchmark::State& state) : PureFollyWorld{state.threads()} {}

    std::unique_ptr<Taskable> taskable;
    ThreadPool cpu;
    ThreadPool io;
};

/// One NonIO worker per benchmark thread, and one of each other kind because none may be absent.
struct CB3World {
    explicit CB3World(int threads);
    explicit CB3World(const benchmark::State& state) : CB3World{state.threads()} {}

    std::unique_ptr<Taskable> taskable;
    SingleLockPool pool;
};

/// `Timeouts` timeouts, on a timer thread.
struct PureFollyTimeoutWorld {
    explicit PureFollyTimeoutWorld(std::size_t count) : timeouts(count) {}
    explicit PureFollyTimeoutWorld(const benchmark::State& state);

    std::vector<Timeout> timeouts;
    TimerThread timer;
};

/// `Timeouts` sleeping tasks in the single-lock pool.
struct CB3TimeoutWorld {
    CB3TimeoutWorld(int threads, std::size_t count);
    explicit CB3TimeoutWorld(const benchmark::State& state);

    std::unique_ptr<Taskable> taskable;
    std::atomic<bool> hasFired{false};
    std::vector<TaskHandle> timeouts;
    SingleLockPool pool;
};

}  // namespace executor
