// SPDX-License-Identifier: Apache-2.0
/// A table's statistics, in as many stripes as the variant wants.
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

/// How far stripes lie apart: as recorded, one directly after the other, so that neighbours share a cache line; or each
/// on lines of its own.
enum class Stride : std::uint8_t { Unpadded, Padded };

/// The first stripe begins on a cache line. Every change of a value happens between a prologue() and an epilogue(), and
/// under the lock of the value's bucket.
template <typename Variant, Stride stride = Stride::Unpadded>
class TableStatistics {
    using Counters = typename Variant::Counters;
    using Stripes = decltype(Variant::stripes(std::declval<const benchgate::Topology&>()));

    /// Padded to whole cache lines by its alignment.
    struct alignas(stride == Stride::Padded ? cacheLine : alignof(Counters)) Stripe {
        Counters counters;
    };

   public:
    /// Bytes from one stripe to the next.
    static constexpr std::size_t strideBytes = sizeof(Stripe);
    static_assert(strideBytes == (stride == Stride::Padded ? 192 : 144));

    /// `bucketMetaData` counts the bytes of meta data of all tables of the bucket.
    TableStatistics(const benchgate::Topology& topology, PerCoreCounter& bucketMetaData)
        : map_{Variant::stripes(topology)}, stripes_(map_.count()), bucketMetaData_{bucketMetaData} {}

    /// Snapshots a value that is about to change; nullptr if it is yet to be made.
    [[nodiscard]] ValueProperties prologue(const StoredValue* value) const { return propertiesOf(value); }

    /// Counts what changed since the prologue; nullptr if the value is gone.
    void epilogue(const ValueProperties& before, const StoredValue* value) {
        const ValueProperties after = propertiesOf(value);
        addChange(bucketMetaData_, before.metaDataSize, after.metaDataSize);
        countChange(stripes_[map_.current()].counters, before, after);
    }

    /// The sums of all stripes. While others count, a value may be seen to go before it is seen to come: such a sum is
    /// told as 0.
    [[nodiscard]] Totals totals() const;

    /// Forgets everything, also in the bucket's counter. Not while others count.
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
