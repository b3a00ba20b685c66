// SPDX-License-Identifier: Apache-2.0
/// A pool whose workers of one kind share one queue behind one lock.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "executor/single_lock_queue.h"

namespace executor {

enum class WorkerKind : std::uint8_t { Reader, Writer, AuxIO, NonIO };

/// The number of workers of each kind; none may be 0.
struct WorkerCounts {
    int readers = 1;
    int writers = 1;
    int auxIO = 1;
    int nonIO = 1;
};

class SingleLockPool {
   public:
    using Clock = RecurringTask::Clock;
    /// The first function that each worker runs; it gets the worker's kind and its index among that kind.
    using PrepareWorker = std::function<void(WorkerKind kind, int worker)>;

    /// Throws std::invalid_argument if a count is not positive.
    explicit SingleLockPool(const WorkerCounts& counts, const PrepareWorker& prepareWorker = {});
    /// Ends each worker after its current task; queued tasks do not run.
    ~SingleLockPool();
    SingleLockPool(const SingleLockPool&) = delete;
    SingleLockPool& operator=(const SingleLockPool&) = delete;
    SingleLockPool(SingleLockPool&&) = delete;
    SingleLockPool& operator=(SingleLockPool&&) = delete;

    /// Registers an owner. This must come before the owner's first task, and the owner must live as long as the pool.
    void registerTaskable(Taskable& owner);

    /// Queues a task to run after `delay`. Throws std::logic_error if its owner is not registered.
    TaskHandle schedule(std::shared_ptr<RecurringTask> task, WorkerKind kind, Clock::duration delay = {});

    /// Makes a queued task run in `delay` from now. Returns false if it is not queued.
    bool snooze(TaskHandle handle, Clock::duration delay);

    /// Drops a task; if it is running, it finishes this turn. Returns false if the pool does not know it.
    bool cancel(TaskHandle handle);

   private:
    static constexpr std::size_t kinds = 4;

    SingleLockQueue& queue(WorkerKind kind) { return queues_.at(static_cast<std::size_t>(kind)); }
    void startWorkers(WorkerKind kind, int count, const PrepareWorker& prepareWorker);
    void work(WorkerKind kind);
    void runTask(SingleLockQueue::Entry entry, WorkerKind kind);

    std::array<SingleLockQueue, kinds> queues_;
    std::mutex mutex_;
    std::unordered_set<const Taskable*> owners_;
    std::unordered_map<TaskHandle, WorkerKind> tasks_;
    TaskHandle lastHandle_ = 0;
    std::vector<std::thread> threads_;
};

}  // namespace executor
