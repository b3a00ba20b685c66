// SPDX-License-Identifier: Apache-2.0
/// A mutex that spins briefly, then parks, and the body of such a spin loop.
#pragma once

#include <atomic>
#include <cstdint>

namespace executor {

/// Tells the core that this is a spin loop, which leaves it to its sibling thread for a moment.
inline void relaxCpu() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// For sections of a few instructions that two running threads enter at the same moment at every hand-off: std::mutex
/// would park one of them each time, and the park would be all that is measured.
class SpinMutex {
   public:
    // The names std::lock_guard calls.
    void lock();
    void unlock();

   private:
    enum class State : std::uint32_t { Free, Held, HeldWithWaiters };

    bool tryLock();

    std::atomic<State> state_{State::Free};
};

}  // namespace executor
