// SPDX-License-Identifier: Apache-2.0
/// Variant `per_core`: a stripe for each logical CPU; the fastest variant, and the one that takes the most memory.
#pragma once

#include <string_view>

#include "harness/topology.h"
#include "hash_table/stripe_counters.h"
#include "hash_table/stripe_map.h"

namespace hash_table {

struct PerCoreStatistics {
    static constexpr std::string_view variant = "per_core";
    using Counters = SignedCounters;

    static StripeMap stripes(const benchgate::Topology& topology) { return StripeMap::perCpu(topology); }
};

}  // namespace hash_table
