// SPDX-License-Identifier: Apache-2.0
/// A pool of a fixed number of workers over one queue, which reports the times of each task to subscribers.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "executor/lifo_semaphore.h"
#include "executor/two_lock_queue.h"

namespace executor {

using Clock = std::chrono::steady_clock;

struct TaskStats {
    Clock::duration waitTime{};
    Clock::duration runTime{};
    Clock::time_point enqueueTime;
    /// The task waited too long and was not run. This pool sets no limit.
    bool expired = false;
    std::uint64_t requestId = 0;
};

class ThreadPool {
   public:
    using Task = std::function<void()>;
    using StatsCallback = std::function<void(const TaskStats&)>;
    /// The first function that each worker runs; it gets the worker's index.
    using PrepareWorker = std::function<void(int worker)>;

    /// Starts all workers at once; they run until shutdown(). Without workers, tasks wait for ever.
    explicit ThreadPool(int workers, const PrepareWorker& prepareWorker = {});
    /// Shuts down.
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;
    ThreadPool(ThreadPool&&) = delete;
    ThreadPool& operator=(ThreadPool&&) = delete;

    /// Queues a task, which must not throw. Throws std::logic_error after shutdown().
    void add(Task task);

    /// From now on, calls `callback` after every task, on the task's worker.
    void subscribeToTaskStats(StatsCallback callback);

    /// Runs the tasks that were added before, with their callbacks, then ends the workers. Two threads must not call it
    /// at once.
    void shutdown();

    /// Returns how many workers are running a task.
    [[nodiscard]] int busyWorkers() const;

   private:
    struct QueuedTask {
        Task run;  // empty: the worker that takes it ends
        Clock::time_point enqueueTime;
    };

    /// The state of a worker that others may read, on a cache line of its own.
    struct alignas(64) Worker {
        std::atomic<bool> isBusy{false};
        std::atomic<Clock::rep> lastActive{0};
    };

    void enqueue(Task task);
    void work(Worker& worker);
    void runTask(Worker& worker, const QueuedTask& task);
    void reportStats(const TaskStats& stats);

    TwoLockQueue<QueuedTask> queue_;
    LifoSemaphore queued_;
    std::shared_mutex callbacksMutex_;
    std::vector<StatsCallback> callbacks_;
    std::atomic<bool> isShutDown_{false};
    std::vector<Worker> workers_;
    std::vector<std::thread> threads_;
};

}  // namespace executor
