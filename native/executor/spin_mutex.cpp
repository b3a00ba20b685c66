// SPDX-License-Identifier: Apache-2.0
#include "executor/spin_mutex.h"

namespace executor {
namespace {

// About a microsecond: many times the longest section, but far less than parking takes.
constexpr int spinLimit = 100;

}  // namespace

void SpinMutex::lock() {
    for (int spin = 0; spin < spinLimit; ++spin) {
        if (tryLock()) {
            return;
        }
        relaxCpu();
    }
    // Marked as held with waiters from here on, even if this thread is the last waiter: one wake-up too many does no
    // harm.
    while (state_.exchange(State::HeldWithWaiters, std::memory_order_acquire) != State::Free) {
        state_.wait(State::HeldWithWaiters, std::memory_order_relaxed);
    }
}

void SpinMutex::unlock() {
    if (state_.exchange(State::Free, std::memory_order_release) == State::HeldWithWaiters) {
        state_.notify_one();
    }
}

bool SpinMutex::tryLock() {
    State seen = State::Free;
    // Reads before it writes, so that spinning threads can share the cache line.
    return state_.load(std::memory_order_relaxed) == State::Free &&
           state_.compare_exchange_strong(seen, State::Held, std::memory_order_acquire, std::memory_order_relaxed);
}

}  // namespace executor
