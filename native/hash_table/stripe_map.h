// SPDX-License-Identifier: Apache-2.0
/// The stripe of a statistic that a thread writes to.
#pragma once

#include <sched.h>

#include <cstddef>
#include <vector>

#include "harness/topology.h"

namespace hash_table {

/// A thread's CPU is looked up again after this many calls. An outdated CPU costs a little time, a look-up at each call
/// would cost more.
constexpr int callsPerLookup = 32;

struct CachedCpu {
    std::size_t cpu = 0;
    int callsLeft = 0;
};

inline constinit thread_local CachedCpu cachedCpu;

/// Returns the calling thread's CPU, as it was at most `callsPerLookup` calls ago.
inline std::size_t currentCpu() {
    if (cachedCpu.callsLeft == 0) {
        const int cpu = sched_getcpu();
        cachedCpu = {.cpu = cpu < 0 ? 0 : static_cast<std::size_t>(cpu), .callsLeft = callsPerLookup};
    }
    --cachedCpu.callsLeft;
    return cachedCpu.cpu;
}

/// The map of a statistic with one stripe for all threads.
struct OnlyStripe {
    [[nodiscard]] static constexpr std::size_t count() { return 1; }
    [[nodiscard]] static constexpr std::size_t current() { return 0; }
};

/// The map of a statistic with a stripe for each group of CPUs.
class StripeMap {
   public:
    static StripeMap perCpu(const benchgate::Topology& topology);
    static StripeMap perLastLevelCache(const benchgate::Topology& topology);

    [[nodiscard]] std::size_t count() const { return count_; }
    /// Returns the CPU's stripe. A CPU that was offline when the map was made shares a stripe with others.
    [[nodiscard]] std::size_t ofCpu(std::size_t cpu) const {
        return cpu < stripes_.size() ? stripes_[cpu] : cpu % count_;
    }
    [[nodiscard]] std::size_t current() const { return ofCpu(currentCpu()); }

   private:
    explicit StripeMap(std::size_t count) : count_{count} {}

    void assign(int cpu, std::size_t stripe);

    std::size_t count_;
    std::vector<std::size_t> stripes_;
};

}  // namespace hash_table
