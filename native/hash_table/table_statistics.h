// SPDX-License-Identifier: Apache-2.0
/// A table's statistics, in as many stripes as the variant needs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/topology.h"
#include "hash_table/cache_line_allocator.h"
#include "hash_table/per_core_counter.h"
#include "hash_table/stripe_counters.h"
#include "hash_table/value_properties.h"

namespace hash_table {

/// The distance between stripes: as recorded, one directly after the other, so that neighbours share a cache line; or
/// each on cache lines of its own.
enum class Stride : std::uint8_t { Unpadded, Padded };

/// The statistics of a table. The first stripe begins on a cache line. Every change of a value happens between a
/// prologue() and an epilogue(), under the lock of the value's bucket.
template <typename Variant, Stride stride = Stride::Unpadded>
class TableStatistics {
    using Counters = typename Variant::Counters;
    using Stripes = decltype(Variant::stripes(std::declval<const benchgate::Topology&>()));

    /// The alignment pads it to whole cache lines.
    struct alignas(stride == Stride::Padded ? cacheLine : alignof(Counters)) Stripe {
        Counters counters;
    };

   public:
    /// Bytes from one stripe to the next.
    static constexpr std::size_t strideBytes = sizeof(Stripe);
    static_assert(strideBytes == (stride == Stride::Padded ? 192 : 144));

    /// `bucketMetaData` counts the bytes of metadata of all tables of the bucket.
    TableStatistics(const benchgate::Topology& topology, PerCoreCounter& bucketMetaData)
        : map_{Variant::stripes(topology)}, stripes_(map_.count()), bucketMetaData_{bucketMetaData} {}

    /// Takes a snapshot of a value that is about to change; nullptr if it does not exist yet.
    [[nodiscard]] ValueProperties prologue(const StoredValue* value) const { return propertiesOf(value); }

    /// Counts the changes since the prologue; nullptr if the value is gone.
    void epilogue(const ValueProperties& before, const StoredValue* value) {
        const ValueProperties after = propertiesOf(value);
        addChange(bucketMetaData_, before.metaDataSize, after.metaDataSize);
        countChange(stripes_[map_.current()].counters, before, after);
    }

    /// Returns the sums of all stripes. While other threads count, a sum may include that a value went, but not yet
    /// that it came; negative sums are reported as 0.
    [[nodiscard]] Totals totals() const;

    /// Resets all counters and subtracts them from the bucket's counter. Must not be called while other threads count.
    void reset();

    [[nodiscard]] std::size_t bytes() const { return stripes_.size() * strideBytes; }
    [[nodiscard]] std::size_t stripeCount() const { return stripes_.size(); }
    [[nodiscard]] const Counters& stripe(std::size_t index) const { return stripes_[index].counters; }

   private:
    Stripes map_;
    std::vector<Stripe, CacheLineAllocator<Stripe>> stripes_;
    PerCoreCounter& bucketMetaData_;
};

template <typename Variant, Stride stride>
Totals TableStatistics<Variant, stride>::totals() const {
    Totals totals;
    for (const Stripe& stripe : stripes_) {
        addCounters(totals, stripe.counters);
    }
    visitCounters(totals, [](auto&&, std::int64_t& total) { total = std::max<std::int64_t>(total, 0); });
    return totals;
}

template <typename Variant, Stride stride>
void TableStatistics<Variant, stride>::reset() {
    bucketMetaData_.add(-totals().metaDataMemory);
    for (Stripe& stripe : stripes_) {
        visitCounters(stripe.counters, [](auto&&, auto& counter) { counter.reset(); });
    }
}

}  // namespace hash_table
