// SPDX-License-Identifier: Apache-2.0
#include "hash_table/stripe_map.h"

namespace hash_table {

StripeMap StripeMap::perCpu(const benchgate::Topology& topology) {
    StripeMap map{topology.cpus.size()};
    for (std::size_t stripe = 0; stripe < topology.cpus.size(); ++stripe) {
        map.assign(topology.cpus[stripe].id, stripe);
    }
    return map;
}

StripeMap StripeMap::perLastLevelCache(const benchgate::Topology& topology) {
    StripeMap map{static_cast<std::size_t>(topology.lastLevelCaches)};
    for (const benchgate::Cpu& cpu : topology.cpus) {
        map.assign(cpu.id, static_cast<std::size_t>(cpu.lastLevelCache));
    }
    return map;
}

void StripeMap::assign(int cpu, std::size_t stripe) {
    const auto index = static_cast<std::size_t>(cpu);
    while (stripes_.size() <= index) {
        stripes_.push_back(stripes_.size() % count_);
    }
    stripes_[index] = stripe;
}

}  // namespace hash_table
