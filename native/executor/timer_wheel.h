// SPDX-License-Identifier: Apache-2.0
/// A hashed wheel of timeouts: adding, moving and cancelling one takes constant time, however many there are.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

namespace executor {

/// A timeout, which belongs to one wheel at most. The wheel must not advance after a scheduled timeout was destroyed.
class Timeout {
   public:
    /// Returns true once its time has come; any thread may call it.
    [[nodiscard]] bool hasExpired() const { return hasExpired_.load(std::memory_order_acquire); }

   private:
    friend class TimerWheel;

    std::atomic<bool> hasExpired_{false};
    bool isScheduled_ = false;
    std::uint64_t dueTick_ = 0;
    std::list<Timeout*>::iterator position_;
};

/// A wheel that counts time in ticks and reads no clock. Only one thread may use it.
class TimerWheel {
   public:
    static constexpr std::size_t slotCount = 512;

    /// Makes `timeout` expire in `ticks` ticks, at least one; moves it if it was scheduled before.
    void schedule(Timeout& timeout, std::uint64_t ticks);

    /// Cancels a timeout. Returns false if it was not scheduled.
    bool cancel(Timeout& timeout);

    /// Advances time tick by tick, and expires the timeouts that are due.
    void advance(std::uint64_t ticks);

    [[nodiscard]] std::size_t size() const { return size_; }

   private:
    using Slot = std::list<Timeout*>;

    Slot& slotOf(std::uint64_t tick) { return slots_[tick % slotCount]; }
    void expireDue(Slot& slot);

    std::vector<Slot> slots_{slotCount};
    std::uint64_t now_ = 0;
    std::size_t size_ = 0;
};

}  // namespace executor
