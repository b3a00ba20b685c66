// SPDX-License-Identifier: Apache-2.0
/// A queue of ready and of sleeping tasks behind one mutex and one condition variable.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "executor/taskable.h"

namespace executor {

/// A task that runs again and again until it reports that it has finished.
class RecurringTask {
   public:
    using Clock = std::chrono::steady_clock;

    RecurringTask(Taskable& owner, TaskId id, int priority) : owner_{owner}, id_{id}, priority_{priority} {}
    virtual ~RecurringTask() = default;
    RecurringTask(const RecurringTask&) = delete;
    RecurringTask& operator=(const RecurringTask&) = delete;
    RecurringTask(RecurringTask&&) = delete;
    RecurringTask& operator=(RecurringTask&&) = delete;

    /// Runs the task. Returns how long it sleeps before it runs again, or nothing if it has finished. Must not throw.
    virtual std::optional<Clock::duration> run() = 0;

    [[nodiscard]] Taskable& owner() const { return owner_; }
    [[nodiscard]] TaskId id() const { return id_; }
    /// A task with a smaller priority runs first.
    [[nodiscard]] int priority() const { return priority_; }

   private:
    Taskable& owner_;
    TaskId id_;
    int priority_;
};

/// A pool's number for a scheduled task; never reused.
using TaskHandle = std::uint64_t;

class SingleLockQueue {
   public:
    using Clock = RecurringTask::Clock;

    struct Entry {
        TaskHandle handle = 0;
        std::shared_ptr<RecurringTask> task;
        /// The time at which the task became or becomes ready.
        Clock::time_point readyAt;
    };

    /// Queues a task, which sleeps if it is not ready yet.
    void push(Entry entry);

    /// Moves a queued task to a new time. Returns false if it is not queued, but running, finished or cancelled.
    bool snooze(TaskHandle handle, Clock::time_point readyAt);

    /// Removes a queued task. Returns false if it is not queued.
    bool cancel(TaskHandle handle);

    /// Returns the next ready task, by priority, then by time, then by age; waits if there is none. Returns nothing
    /// once stopped.
    std::optional<Entry> pop();

    /// Releases every waiting worker; tasks that are still queued do not run.
    void stop();

   private:
    using ReadyKey = std::pair<int, TaskHandle>;
    using FutureKey = std::pair<Clock::time_point, TaskHandle>;

    void insert(Entry entry);
    std::optional<Entry> take(TaskHandle handle);
    void wakeSleepers(Clock::time_point now);

    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<ReadyKey, Entry> ready_;
    std::map<FutureKey, Entry> future_;
    // The place of each sleeping task in `future_`.
    std::unordered_map<TaskHandle, Clock::time_point> sleepers_;
    std::unordered_map<TaskHandle, int> runnable_;
    bool isStopped_ = false;
};

}  // namespace executor
