// SPDX-License-Identifier: Apache-2.0
#include "harness/pinning.h"

#include <cstddef>

namespace benchgate {
namespace {

std::vector<int> readAllowedCpus() {
    cpu_set_t allowed{};
    std::vector<int> cpus;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (CPU_ISSET(cpu, &allowed)) {
                cpus.push_back(cpu);
            }
        }
    }
    // The call fails if there are more CPUs than the mask can hold. Pinning is then refused, but callers still get a
    // CPU.
    if (cpus.empty()) {
        cpus.push_back(0);
    }
    return cpus;
}

}  // namespace

Pinning probePinning() {
    const ScopedPin probe{cpuForThread(0)};
    return {.isPermitted = probe.isPinned(), .cpus = allowedCpus()};
}

const std::vector<int>& allowedCpus() {
    static const std::vector<int> cpus = readAllowedCpus();
    return cpus;
}

int cpuForThread(int index) {
    const auto& cpus = allowedCpus();
    return cpus[static_cast<std::size_t>(index) % cpus.size()];
}

bool pinForGood(int cpu) {
    cpu_set_t only{};
    CPU_SET(cpu, &only);
    return sched_setaffinity(0, sizeof(only), &only) == 0;
}

ScopedPin::ScopedPin(int cpu) : isPinned_{sched_getaffinity(0, sizeof(before_), &before_) == 0 && pinForGood(cpu)} {}

ScopedPin::~ScopedPin() {
    if (isPinned_) {
        sched_setaffinity(0, sizeof(before_), &before_);
    }
}

}  // namespace benchgate
