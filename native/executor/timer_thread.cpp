// SPDX-License-Identifier: Apache-2.0
#include "executor/timer_thread.h"

#include <utility>

namespace executor {
namespace {

std::uint64_t toTicks(std::chrono::milliseconds delay) { return static_cast<std::uint64_t>(delay / TimerThread::tick); }

}  // namespace

TimerThread::TimerThread() : thread_{[this] { run(); }} {}

TimerThread::~TimerThread() {
    {
        const std::lock_guard lock{mutex_};
        isStopped_ = true;
        changed_.notify_one();
    }
    thread_.join();
}

void TimerThread::schedule(Timeout& timeout, std::chrono::milliseconds delay) {
    send({.action = Action::Schedule, .timeout = &timeout, .ticks = toTicks(delay)});
}

void TimerThread::scheduleAndWait(Timeout& timeout, std::chrono::milliseconds delay) {
    Reply reply;
    send({.action = Action::Schedule, .timeout = &timeout, .ticks = toTicks(delay), .reply = &reply});
    reply.done.wait();
}

bool TimerThread::cancelAndWait(Timeout& timeout) {
    Reply reply;
    send({.action = Action::Cancel, .timeout = &timeout, .reply = &reply});
    reply.done.wait();
    return reply.wasScheduled;
}

void TimerThread::send(const Command& command) {
    const std::lock_guard lock{mutex_};
    commands_.push_back(command);
    // If there are commands already, the thread is awake.
    if (commands_.size() == 1) {
        changed_.notify_one();
    }
}

void TimerThread::run() {
    std::unique_lock lock{mutex_};
    while (!isStopped_) {
        waitForWork(lock);
        const auto commands = std::exchange(commands_, {});
        lock.unlock();
        advanceToNow();
        for (const auto& command : commands) {
            execute(command);
        }
        lock.lock();
    }
}

void TimerThread::waitForWork(std::unique_lock<std::mutex>& lock) {
    const auto isCalled = [this] { return isStopped_ || !commands_.empty(); };
    if (wheel_.size() > 0) {
        changed_.wait_until(lock, wheelTime_ + tick, isCalled);
    } else {
        changed_.wait(lock, isCalled);
    }
}

void TimerThread::execute(const Command& command) {
    bool wasScheduled = false;
    if (command.action == Action::Schedule) {
        wheel_.schedule(*command.timeout, command.ticks);
    } else {
        wasScheduled = wheel_.cancel(*command.timeout);
    }
    if (command.reply != nullptr) {
        command.reply->wasScheduled = wasScheduled;
        command.reply->done.post();
    }
}

void TimerThread::advanceToNow() {
    const auto ticks = (Clock::now() - wheelTime_) / tick;
    wheel_.advance(static_cast<std::uint64_t>(ticks));
    wheelTime_ += ticks * tick;
}

}  // namespace executor
