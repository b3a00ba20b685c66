// SPDX-License-Identifier: Apache-2.0
#include "executor/baton.h"

#include "executor/spin_mutex.h"

namespace executor {

void Baton::post() {
    if (state_.exchange(State::Posted, std::memory_order_acq_rel) == State::Parked) {
        // The waiter may have gone by now. This call uses only the address, and the waiter's loop ignores a stray
        // wake-up.
        state_.notify_one();
    }
}

bool Baton::wait() {
    if (spin()) {
        return false;
    }
    State seen = State::Empty;
    if (!state_.compare_exchange_strong(seen, State::Parked, std::memory_order_acq_rel, std::memory_order_acquire)) {
        return false;
    }
    while (state_.load(std::memory_order_acquire) != State::Posted) {
        state_.wait(State::Parked, std::memory_order_acquire);
    }
    return true;
}

bool Baton::spin() {
    using Clock = std::chrono::steady_clock;
    if (state_.load(std::memory_order_acquire) == State::Posted) {
        return true;
    }
    const auto deadline = Clock::now() + spinLimit;
    while (Clock::now() < deadline) {
        if (state_.load(std::memory_order_acquire) == State::Posted) {
            return true;
        }
        relaxCpu();
    }
    return false;
}

}  // namespace executor
