// SPDX-License-Identifier: Apache-2.0
/// A mutex that spins briefly, then parks; and the pause of such a spin loop.
#pragma once

#include <atomic>
#include <cstdint>

namespace executor {

/// Marks a spin loop for the core, which then leaves its resources to the sibling thread for a moment.
inline void relaxCpu() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// A mutex for sections of a few instructions which two running threads enter at the same moment in every hand-off.
/// std::mutex would park one of them each time, and a benchmark would measure nothing but that.
class SpinMutex {
   public:
    // The names that std::lock_guard calls.
    void lock();
    void unlock();

   private:
    enum class State : std::uint32_t { Free, Held, HeldWithWaiters };

    bool tryLock();

    std::atomic<State> state_{State::Free};
};

}  // namespace executor
