/// On which CPU a thread runs, asked of the system only now and then.
#pragma once

#include <sched.h>

#include <cstddef>

namespace hash_table {

/// A CPU is believed for so many calls: a wrong one costs a little time, asking at each call would cost more.
constexpr int callsPerLookup = 32;

struct CachedCpu {
    std::size_t cpu = 0;
    int callsLeft = 0;
};

inline constinit thread_local CachedCpu cachedCpu;

/// The calling thread's CPU, as it was at most `callsPerLookup` calls ago.
inline std::size_t currentCpu() {
    if (cachedCpu.callsLeft == 0) {
        const int cpu = sched_getcpu();
        cachedCpu = {.cpu = cpu < 0 ? 0 : static_cast<std::size_t>(cpu), .callsLeft = callsPerLookup};
    }
    --cachedCpu.callsLeft;
    return cachedCpu.cpu;
}

}  // namespace hash_table
