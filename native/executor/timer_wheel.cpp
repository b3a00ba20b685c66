// SPDX-License-Identifier: Apache-2.0
#include "executor/timer_wheel.h"

#include <algorithm>

namespace executor {

void TimerWheel::schedule(Timeout& timeout, std::uint64_t ticks) {
    const auto due = now_ + std::max<std::uint64_t>(ticks, 1);
    Slot& slot = slotOf(due);
    if (timeout.isScheduled_) {
        // Moves the list node, so that rescheduling allocates nothing.
        slot.splice(slot.end(), slotOf(timeout.dueTick_), timeout.position_);
    } else {
        timeout.position_ = slot.insert(slot.end(), &timeout);
        timeout.isScheduled_ = true;
        timeout.hasExpired_.store(false, std::memory_order_release);
        ++size_;
    }
    timeout.dueTick_ = due;
}

bool TimerWheel::cancel(Timeout& timeout) {
    if (!timeout.isScheduled_) {
        return false;
    }
    slotOf(timeout.dueTick_).erase(timeout.position_);
    timeout.isScheduled_ = false;
    --size_;
    return true;
}

void TimerWheel::advance(std::uint64_t ticks) {
    for (; ticks > 0; --ticks) {
        ++now_;
        expireDue(slotOf(now_));
    }
}

void TimerWheel::expireDue(Slot& slot) {
    for (auto position = slot.begin(); position != slot.end();) {
        Timeout& timeout = **position;
        // Other timeouts in the slot are due in a later turn of the wheel.
        ++position;
        if (timeout.dueTick_ <= now_) {
            cancel(timeout);
            timeout.hasExpired_.store(true, std::memory_order_release);
        }
    }
}

}  // namespace executor
