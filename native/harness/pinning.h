// SPDX-License-Identifier: Apache-2.0
/// Gives each thread its own CPU, out of those the process may use.
#pragma once

#include <sched.h>

#include <vector>

namespace benchgate {

struct Pinning {
    /// Whether the system lets a thread choose its CPU.
    bool isPermitted = false;
    /// The CPUs the process was started on, ascending; at least one.
    std::vector<int> cpus;
};

/// Reads the allowed CPUs and tries to pin the calling thread, which is left as it was.
Pinning probePinning();

/// CPUs the process was allowed when this was first called; must first be called before any thread is pinned.
const std::vector<int>& allowedCpus();

/// The CPU of thread `index`: its own while there are enough CPUs, then round again.
int cpuForThread(int index);

/// Holds the calling thread on one CPU until destroyed, then gives it back the CPUs it had: Google Benchmark runs
/// thread 0 of every benchmark on the main thread, and threads started later inherit what it has.
class ScopedPin {
   public:
    explicit ScopedPin(int cpu);
    ~ScopedPin();
    ScopedPin(const ScopedPin&) = delete;
    ScopedPin& operator=(const ScopedPin&) = delete;
    ScopedPin(ScopedPin&&) = delete;
    ScopedPin& operator=(ScopedPin&&) = delete;

    /// False if the system refused; the thread then runs where it ran before.
    [[nodiscard]] bool isPinned() const { return isPinned_; }

   private:
    cpu_set_t before_{};
    bool isPinned_ = false;
};

/// Holds the calling thread on one CPU for the rest of its life; false if the system refused.
bool pinForGood(int cpu);

}  // namespace benchgate
