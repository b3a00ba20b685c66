// SPDX-License-Identifier: Apache-2.0
/// A one-shot event between two threads that spins briefly, then parks.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace executor {

/// Four bytes without padding, meant for a waiter's stack: it may be destroyed as soon as wait() has returned.
class Baton {
   public:
    /// A hand-off between two running threads takes a few hundred nanoseconds, parking takes several microseconds.
    static constexpr std::chrono::nanoseconds spinLimit = std::chrono::microseconds{2};

    /// Releases the one waiter, which then sees everything that happened before. Must be called once between resets.
    void post();

    /// Blocks until posted. Returns true if it had to park, false if spinning was enough.
    bool wait();

    /// Makes the baton ready to be posted again. Must not be called while a thread waits or posts.
    void reset() { state_.store(State::Empty, std::memory_order_relaxed); }

   private:
    enum class State : std::uint32_t { Empty, Parked, Posted };

    bool spin();

    std::atomic<State> state_{State::Empty};
};

}  // namespace executor
