// SPDX-License-Identifier: Apache-2.0
#include "executor/thread_pool.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

namespace executor {

ThreadPool::ThreadPool(int workers, const PrepareWorker& prepareWorker) : workers_(static_cast<std::size_t>(workers)) {
    threads_.reserve(workers_.size());
    for (int index = 0; index < workers; ++index) {
        Worker& worker = workers_[static_cast<std::size_t>(index)];
        threads_.emplace_back([this, index, &worker, prepareWorker] {
            if (prepareWorker) {
                prepareWorker(index);
            }
            work(worker);
        });
    }
}

ThreadPool::~ThreadPool() { shutdown(); }

void ThreadPool::add(Task task) {
    if (isShutDown_.load(std::memory_order_acquire)) {
        throw std::logic_error{"the pool was shut down"};
    }
    enqueue(std::move(task));
}

void ThreadPool::subscribeToTaskStats(StatsCallback callback) {
    const std::lock_guard lock{callbacksMutex_};
    callbacks_.push_back(std::move(callback));
}

void ThreadPool::shutdown() {
    if (isShutDown_.exchange(true, std::memory_order_acq_rel)) {
        return;
    }
    // The queue is first in, first out, so a worker takes its empty task only after all tasks that were added before.
    for (std::size_t worker = 0; worker < threads_.size(); ++worker) {
        enqueue({});
    }
    for (auto& thread : threads_) {
        thread.join();
    }
}

int ThreadPool::busyWorkers() const {
    return static_cast<int>(
        std::count_if(workers_.begin(), workers_.end(), [](const Worker& worker) { return worker.isBusy.load(); }));
}

void ThreadPool::enqueue(Task task) {
    queue_.push({.run = std::move(task), .enqueueTime = Clock::now()});
    queued_.post();
}

void ThreadPool::work(Worker& worker) {
    while (true) {
        queued_.wait();
        // A permit is posted after its task, so the queue has one.
        const std::optional<QueuedTask> task = queue_.pop();
        if (!task->run) {
            return;
        }
        runTask(worker, *task);
    }
}

void ThreadPool::runTask(Worker& worker, const QueuedTask& task) {
    worker.isBusy.store(true, std::memory_order_relaxed);
    const auto started = Clock::now();
    task.run();
    const auto ended = Clock::now();
    worker.isBusy.store(false, std::memory_order_relaxed);
    worker.lastActive.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    reportStats({.waitTime = started - task.enqueueTime, .runTime = ended - started, .enqueueTime = task.enqueueTime});
}

void ThreadPool::reportStats(const TaskStats& stats) {
    const std::shared_lock lock{callbacksMutex_};
    for (const auto& callback : callbacks_) {
        callback(stats);
    }
}

}  // namespace executor
