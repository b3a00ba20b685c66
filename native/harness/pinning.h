// SPDX-License-Identifier: Apache-2.0
/// CPU pinning: each thread gets its own CPU, out of those that the process may use.
#pragma once

#include <sched.h>

#include <vector>

namespace benchgate {

struct Pinning {
    /// Whether the system lets a thread choose its CPU.
    bool isPermitted = false;
    /// The CPUs that the process was allowed at its start, ascending; at least one.
    std::vector<int> cpus;
};

/// Reads the allowed CPUs and tries to pin the calling thread, whose CPUs are restored afterwards.
Pinning probePinning();

/// Returns the CPUs that the process was allowed when this was first called. The first call must come before any thread
/// is pinned.
const std::vector<int>& allowedCpus();

/// Returns the CPU of thread `index`: its own while there are enough CPUs, then starting again from the first.
int cpuForThread(int index);

/// Pins the calling thread to one CPU until it is destroyed, then restores the thread's CPUs. This is needed because
/// Google Benchmark runs thread 0 of every benchmark on the main thread, and threads started later inherit its CPUs.
class ScopedPin {
   public:
    explicit ScopedPin(int cpu);
    ~ScopedPin();
    ScopedPin(const ScopedPin&) = delete;
    ScopedPin& operator=(const ScopedPin&) = delete;
    ScopedPin(ScopedPin&&) = delete;
    ScopedPin& operator=(ScopedPin&&) = delete;

    /// Returns false if the system refused; the thread then keeps its CPUs.
    [[nodiscard]] bool isPinned() const { return isPinned_; }

   private:
    cpu_set_t before_{};
    bool isPinned_ = false;
};

/// Pins the calling thread to one CPU for the rest of its life. Returns false if the system refuses.
bool pinForGood(int cpu);

}  // namespace benchgate
