// SPDX-License-Identifier: Apache-2.0
#include "executor/single_lock_pool.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace executor {

SingleLockPool::SingleLockPool(const WorkerCounts& counts, const PrepareWorker& prepareWorker) {
    if (std::min({counts.readers, counts.writers, counts.auxIO, counts.nonIO}) < 1) {
        throw std::invalid_argument{"each kind of worker needs at least one"};
    }
    startWorkers(WorkerKind::Reader, counts.readers, prepareWorker);
    startWorkers(WorkerKind::Writer, counts.writers, prepareWorker);
    startWorkers(WorkerKind::AuxIO, counts.auxIO, prepareWorker);
    startWorkers(WorkerKind::NonIO, counts.nonIO, prepareWorker);
}

SingleLockPool::~SingleLockPool() {
    for (auto& queue : queues_) {
        queue.stop();
    }
    for (auto& thread : threads_) {
        thread.join();
    }
}

void SingleLockPool::registerTaskable(Taskable& owner) {
    const std::lock_guard lock{mutex_};
    owners_.insert(&owner);
}

TaskHandle SingleLockPool::schedule(std::shared_ptr<RecurringTask> task, WorkerKind kind, Clock::duration delay) {
    TaskHandle handle = 0;
    {
        const std::lock_guard lock{mutex_};
        if (!owners_.contains(&task->owner())) {
            throw std::logic_error{"the task's owner is not registered"};
        }
        handle = ++lastHandle_;
        tasks_.emplace(handle, kind);
    }
    queue(kind).push({.handle = handle, .task = std::move(task), .readyAt = Clock::now() + delay});
    return handle;
}

bool SingleLockPool::snooze(TaskHandle handle, Clock::duration delay) {
    // Held while the queue changes, so that the task cannot finish in between.
    const std::lock_guard lock{mutex_};
    const auto known = tasks_.find(handle);
    return known != tasks_.end() && queue(known->second).snooze(handle, Clock::now() + delay);
}

bool SingleLockPool::cancel(TaskHandle handle) {
    const std::lock_guard lock{mutex_};
    const auto known = tasks_.find(handle);
    if (known == tasks_.end()) {
        return false;
    }
    queue(known->second).cancel(handle);
    tasks_.erase(known);
    return true;
}

void SingleLockPool::startWorkers(WorkerKind kind, int count, const PrepareWorker& prepareWorker) {
    for (int index = 0; index < count; ++index) {
        threads_.emplace_back([this, kind, index, prepareWorker] {
            if (prepareWorker) {
                prepareWorker(kind, index);
            }
            work(kind);
        });
    }
}

void SingleLockPool::work(WorkerKind kind) {
    while (auto entry = queue(kind).pop()) {
        runTask(*std::move(entry), kind);
    }
}

void SingleLockPool::runTask(SingleLockQueue::Entry entry, WorkerKind kind) {
    RecurringTask& task = *entry.task;
    const auto started = Clock::now();
    task.owner().logQTime(task.id(), started - entry.readyAt);
    const auto sleep = task.run();
    const auto ended = Clock::now();
    task.owner().logRunTime(task.id(), ended - started);

    const std::lock_guard lock{mutex_};
    if (!sleep) {
        tasks_.erase(entry.handle);
    } else if (tasks_.contains(entry.handle)) {
        // It was not cancelled while it ran.
        entry.readyAt = ended + *sleep;
        queue(kind).push(std::move(entry));
    }
}

}  // namespace executor
