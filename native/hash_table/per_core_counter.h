// SPDX-License-Identifier: Apache-2.0
/// The counter for all tables of a bucket together, to which every CPU adds on a cache line of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/topology.h"
#include "hash_table/cache_line_allocator.h"
#include "hash_table/counters.h"
#include "hash_table/stripe_map.h"

namespace hash_table {

class PerCoreCounter {
   public:
    explicit PerCoreCounter(const benchgate::Topology& topology);

    void add(std::int64_t delta) { cells_[map_.current()].counter.add(delta); }
    /// Returns the sum over all CPUs. It includes some of the additions that happen meanwhile.
    [[nodiscard]] std::int64_t total() const;

   private:
    struct alignas(cacheLine) Cell {
        AtomicCounter<std::int64_t> counter;
    };

    StripeMap map_;
    std::vector<Cell> cells_;
};

}  // namespace hash_table
