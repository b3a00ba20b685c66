// SPDX-License-Identifier: Apache-2.0
/// Variant `per_llc`: a stripe for the CPUs that share a last-level cache.
#pragma once

#include <string_view>

#include "harness/topology.h"
#include "hash_table/stripe_counters.h"
#include "hash_table/stripe_map.h"

namespace hash_table {

struct PerLlcStatistics {
    static constexpr std::string_view variant = "per_llc";
    using Counters = SignedCounters;

    static StripeMap stripes(const benchgate::Topology& topology) { return StripeMap::perLastLevelCache(topology); }
};

}  // namespace hash_table
