// SPDX-License-Identifier: Apache-2.0
/// A semaphore that wakes the thread which waited last, whose cache is warmest.
#pragma once

#include <atomic>
#include <cstdint>

#include "executor/baton.h"
#include "executor/spin_mutex.h"

namespace executor {

class LifoSemaphore {
   public:
    /// Adds a permit, or gives it to the last waiter if there is one.
    void post();

    /// Takes a permit, waiting for one if there is none. Returns true if the thread had to park.
    bool wait();

   private:
    struct Waiter {
        Baton granted;
        Waiter* below = nullptr;
    };

    bool tryTake();
    Waiter* popWaiterOrAddPermit();

    std::atomic<std::int64_t> permits_{0};
    // Makes "no permit, so I wait" and "no waiter, so I add a permit" exclude each other.
    SpinMutex mutex_;
    Waiter* top_ = nullptr;
};

}  // namespace executor
