/// A mutex that spins briefly, then parks.
#pragma once

#include <atomic>
#include <cstdint>

namespace executor {

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
