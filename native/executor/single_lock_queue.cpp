// SPDX-License-Identifier: Apache-2.0
#include "executor/single_lock_queue.h"

namespace executor {

void SingleLockQueue::push(Entry entry) {
    const std::lock_guard lock{mutex_};
    insert(std::move(entry));
    changed_.notify_one();
}

bool SingleLockQueue::snooze(TaskHandle handle, Clock::time_point readyAt) {
    const std::lock_guard lock{mutex_};
    auto entry = take(handle);
    if (!entry) {
        return false;
    }
    entry->readyAt = readyAt;
    insert(*std::move(entry));
    changed_.notify_one();
    return true;
}

bool SingleLockQueue::cancel(TaskHandle handle) {
    const std::lock_guard lock{mutex_};
    return take(handle).has_value();
}

std::optional<SingleLockQueue::Entry> SingleLockQueue::pop() {
    std::unique_lock lock{mutex_};
    while (!isStopped_) {
        wakeSleepers(Clock::now());
        if (!ready_.empty()) {
            return take(ready_.begin()->first.second);
        }
        if (future_.empty()) {
            changed_.wait(lock);
        } else {
            // A copy, because another worker may take the entry while this one sleeps.
            const auto earliest = future_.begin()->first.first;
            changed_.wait_until(lock, earliest);
        }
    }
    return std::nullopt;
}

void SingleLockQueue::stop() {
    const std::lock_guard lock{mutex_};
    isStopped_ = true;
    changed_.notify_all();
}

void SingleLockQueue::insert(Entry entry) {
    const auto handle = entry.handle;
    if (entry.readyAt <= Clock::now()) {
        const int priority = entry.task->priority();
        runnable_.emplace(handle, priority);
        ready_.emplace(ReadyKey{priority, handle}, std::move(entry));
    } else {
        const auto readyAt = entry.readyAt;
        sleepers_.emplace(handle, readyAt);
        future_.emplace(FutureKey{readyAt, handle}, std::move(entry));
    }
}

std::optional<SingleLockQueue::Entry> SingleLockQueue::take(TaskHandle handle) {
    if (const auto runnable = runnable_.find(handle); runnable != runnable_.end()) {
        auto node = ready_.extract({runnable->second, handle});
        runnable_.erase(runnable);
        return std::move(node.mapped());
    }
    if (const auto sleeper = sleepers_.find(handle); sleeper != sleepers_.end()) {
        auto node = future_.extract({sleeper->second, handle});
        sleepers_.erase(sleeper);
        return std::move(node.mapped());
    }
    return std::nullopt;
}

void SingleLockQueue::wakeSleepers(Clock::time_point now) {
    while (!future_.empty() && future_.begin()->first.first <= now) {
        auto entry = take(future_.begin()->first.second);
        insert(*std::move(entry));
    }
}

}  // namespace executor
