// SPDX-License-Identifier: Apache-2.0
/// Variant `single`: one stripe that all threads write to.
#pragma once

#include <string_view>

#include "harness/topology.h"
#include "hash_table/stripe_counters.h"
#include "hash_table/stripe_map.h"

namespace hash_table {

struct SingleStatistics {
    static constexpr std::string_view variant = "single";
    using Counters = UnsignedCounters;

    static OnlyStripe stripes(const benchgate::Topology& /*topology*/) { return {}; }
};

}  // namespace hash_table
