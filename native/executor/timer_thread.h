// SPDX-License-Identifier: Apache-2.0
/// A timer wheel on a thread of its own, told by other threads what to schedule.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "executor/baton.h"
#include "executor/timer_wheel.h"

namespace executor {

class TimerThread {
   public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds tick{10};

    TimerThread();
    /// What is still scheduled will not expire.
    ~TimerThread();
    TimerThread(const TimerThread&) = delete;
    TimerThread& operator=(const TimerThread&) = delete;
    TimerThread(TimerThread&&) = delete;
    TimerThread& operator=(TimerThread&&) = delete;

    /// Asks for `timeout` to expire after `delay` and does not wait for the timer thread.
    void schedule(Timeout& timeout, std::chrono::milliseconds delay);

    /// The same, and returns when it and all that was asked before by this thread is done.
    void scheduleAndWait(Timeout& timeout, std::chrono::milliseconds delay);

    /// Cancels and returns when done. False if it was not scheduled.
    bool cancelAndWait(Timeout& timeout);

   private:
    enum class Order : std::uint8_t { Schedule, Cancel };

    struct Reply {
        Baton done;
        bool wasScheduled = false;
    };

    struct Command {
        Order order = Order::Schedule;
        Timeout* timeout = nullptr;
        std::uint64_t ticks = 0;
        Reply* reply = nullptr;
    };

    void send(const Command& command);
    void run();
    void waitForWork(std::unique_lock<std::mutex>& lock);
    void obey(const Command& command);
    void advanceToNow();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Command> commands_;
    bool isStopped_ = false;

    // The timer thread's own.
    TimerWheel wheel_;
    Clock::time_point wheelTime_ = Clock::now();
    std::thread thread_;
};

}  // namespace executor
