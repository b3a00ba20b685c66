// SPDX-License-Identifier: Apache-2.0
/// One queue of ready and of sleeping tasks behind one mutex and one condition variable.
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

/// A task that is run again and again until it says that it is finished.
class RecurringTask {
   public:
    using Clock = std::chrono::steady_clock;

    RecurringTask(Taskable& owner, TaskId id, int priority) : owner_{owner}, id_{id}, priority_{priority} {}
    virtual ~RecurringTask() = default;
    RecurringTask(const RecurringTask&) = delete;
    RecurringTask& operator=(const RecurringTask&) = delete;
    RecurringTask(RecurringTask&&) = delete;
    RecurringTask& operator=(RecurringTask&&) = delete;

    /// How long the task sleeps before it runs again, or nothing if it is finished. Must not throw.
    virtual std::optional<Clock::duration> run() = 0;

    [[nodiscard]] Taskable& owner() const { return owner_; }
    [[nodiscard]] TaskId id() const { return id_; }
    /// Smaller runs first.
    [[nodiscard]] int priority() const { return priority_; }

   private:
    Taskable& owner_;
    TaskId id_;
    int priority_;
};

/// What a pool calls a scheduled task. Never used twice.
using TaskHandle = std::uint64_t;

class SingleLockQueue {
   public:
    using Clock = RecurringTask::Clock;

    struct Entry {
        TaskHandle handle = 0;
        std::shared_ptr<RecurringTask> task;
        /// When the task became or becomes ready.
        Clock::time_point readyAt;
    };

    /// Queues a task, asleep if it is not ready yet.
    void push(Entry entry);

    /// Moves a queued task to a new time. False if it is not queued: running, finished or cancelled.
    bool snooze(TaskHandle handle, Clock::time_point readyAt);

    /// Takes a queued task out. False if it is not queued.
    bool cancel(TaskHandle handle);

    /// The next ready task, by priority, then by time, then by age; waits for one. Nothing once stopped.
    std::optional<Entry> pop();

    /// Lets every waiting worker go; what is still queued will not run.
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
    // Where a sleeping task lies in `future_`.
    std::unordered_map<TaskHandle, Clock::time_point> sleepers_;
    std::unordered_map<TaskHandle, int> runnable_;
    bool isStopped_ = false;
};

}  // namespace executor
