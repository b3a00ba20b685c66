// SPDX-License-Identifier: Apache-2.0
#include "executor/lifo_semaphore.h"

#include <mutex>

namespace executor {

void LifoSemaphore::post() {
    if (Waiter* const waiter = popWaiterOrAddPermit()) {
        waiter->granted.post();
    }
}

bool LifoSemaphore::wait() {
    if (tryTake()) {
        return false;
    }
    Waiter self;
    {
        const std::lock_guard lock{mutex_};
        if (tryTake()) {
            return false;
        }
        self.below = top_;
        top_ = &self;
    }
    return self.granted.wait();
}

bool LifoSemaphore::tryTake() {
    auto permits = permits_.load(std::memory_order_relaxed);
    while (permits > 0) {
        if (permits_.compare_exchange_weak(permits, permits - 1, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

LifoSemaphore::Waiter* LifoSemaphore::popWaiterOrAddPermit() {
    const std::lock_guard lock{mutex_};
    Waiter* const waiter = top_;
    if (waiter == nullptr) {
        permits_.fetch_add(1, std::memory_order_release);
    } else {
        top_ = waiter->below;
    }
    return waiter;
}

}  // namespace executor
