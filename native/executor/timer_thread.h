// SPDX-License-Identifier: Apache-2.0
/// A timer wheel on a thread of its own, to which other threads send commands.
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
    /// Timeouts that are still scheduled do not expire.
    ~TimerThread();
    TimerThread(const TimerThread&) = delete;
    TimerThread& operator=(const TimerThread&) = delete;
    TimerThread(TimerThread&&) = delete;
    TimerThread& operator=(TimerThread&&) = delete;

    /// Makes `timeout` expire after `delay`. Does not wait for the timer thread.
    void schedule(Timeout& timeout, std::chrono::milliseconds delay);

    /// Does the same, and returns when this and all earlier commands of this thread are done.
    void scheduleAndWait(Timeout& timeout, std::chrono::milliseconds delay);

    /// Cancels a timeout and returns when that is done. Returns false if it was not scheduled.
    bool cancelAndWait(Timeout& timeout);

   private:
    enum class Action : std::uint8_t { Schedule, Cancel };

    struct Reply {
        Baton done;
        bool wasScheduled = false;
    };

    struct Command {
        Action action = Action::Schedule;
        Timeout* timeout = nullptr;
        std::uint64_t ticks = 0;
        Reply* reply = nullptr;
    };

    void send(const Command& command);
    void run();
    void waitForWork(std::unique_lock<std::mutex>& lock);
    void execute(const Command& command);
    void advanceToNow();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Command> commands_;
    bool isStopped_ = false;

    // Used by the timer thread only.
    TimerWheel wheel_;
    Clock::time_point wheelTime_ = Clock::now();
    std::thread thread_;
};

}  // namespace executor
