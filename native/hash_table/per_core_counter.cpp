// SPDX-License-Identifier: Apache-2.0
#include "hash_table/per_core_counter.h"

#include <numeric>

namespace hash_table {

PerCoreCounter::PerCoreCounter(const benchgate::Topology& topology)
    : map_{StripeMap::perCpu(topology)}, cells_(map_.count()) {}

std::int64_t PerCoreCounter::total() const {
    return std::accumulate(cells_.begin(), cells_.end(), std::int64_t{0},
                           [](std::int64_t sum, const Cell& cell) { return sum + cell.counter.load(); });
}

}  // namespace hash_table
