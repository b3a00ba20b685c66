// SPDX-License-Identifier: Apache-2.0
/// The counters of one stripe of a table's statistics, and their update when a value changes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "hash_table/counters.h"
#include "hash_table/value_properties.h"

namespace hash_table {

/// Eighteen counters at fixed offsets, which span three cache lines.
template <typename Count, typename Size>
struct StripeCounters {
    Count numItems{};
    Count numNonResidentItems{};
    Count numDeletedItems{};
    Count numTempItems{};
    Count numSystemItems{};
    Count numPreparedSyncWrites{};
    std::array<Count, datatypeCount> datatypeCounts{};
    Size cacheSize{};
    Size memSize{};
    Size metaDataMemory{};
    Size uncompressedMemSize{};
};

/// The counters of a table with one stripe: counts stop at zero.
using UnsignedCounters = StripeCounters<NonNegativeCounter, AtomicCounter<std::uint64_t>>;

/// The counters of a table with several stripes: a value may come in one stripe and go in another, so each may be
/// negative.
using SignedCounters = StripeCounters<AtomicCounter<std::int64_t>, AtomicCounter<std::int64_t>>;

/// The sums over all stripes.
using Totals = StripeCounters<std::int64_t, std::int64_t>;

constexpr std::size_t stripeCounters = 6 + datatypeCount + 4;
constexpr std::size_t stripeBytes = 8 * stripeCounters;
static_assert(stripeBytes == 144);
static_assert(sizeof(UnsignedCounters) == stripeBytes && sizeof(SignedCounters) == stripeBytes);

/// Calls `visit(name, counter)` for each counter, always in the same order.
template <typename Counters, typename Visit>
void visitCounters(Counters& counters, Visit visit) {
    visit("numItems", counters.numItems);
    visit("numNonResidentItems", counters.numNonResidentItems);
    visit("numDeletedItems", counters.numDeletedItems);
    visit("numTempItems", counters.numTempItems);
    visit("numSystemItems", counters.numSystemItems);
    visit("numPreparedSyncWrites", counters.numPreparedSyncWrites);
    for (std::size_t datatype = 0; datatype < datatypeCount; ++datatype) {
        visit("datatypeCounts[" + std::to_string(datatype) + "]", counters.datatypeCounts[datatype]);
    }
    visit("cacheSize", counters.cacheSize);
    visit("memSize", counters.memSize);
    visit("metaDataMemory", counters.metaDataMemory);
    visit("uncompressedMemSize", counters.uncompressedMemSize);
}

/// Adds a stripe's counters to the totals.
template <typename Counters>
void addCounters(Totals& totals, const Counters& counters) {
    std::array<std::int64_t, stripeCounters> counted{};
    std::size_t next = 0;
    visitCounters(counters, [&](auto&&, const auto& counter) { counted[next++] = counter.load(); });
    next = 0;
    visitCounters(totals, [&](auto&&, std::int64_t& total) { total += counted[next++]; });
}

/// Adds the difference; writes nothing if there is none.
template <typename Counter, typename Number>
void addChange(Counter& counter, Number before, Number after) {
    if (before != after) {
        counter.add(static_cast<std::int64_t>(after) - static_cast<std::int64_t>(before));
    }
}

/// Updates the counters for a value that changed from `before` to `after`.
template <typename Counters>
void countChange(Counters& counters, const ValueProperties& before, const ValueProperties& after) {
    addChange(counters.cacheSize, before.size, after.size);
    addChange(counters.memSize, before.size, after.size);
    addChange(counters.metaDataMemory, before.metaDataSize, after.metaDataSize);
    addChange(counters.uncompressedMemSize, before.uncompressedSize, after.uncompressedSize);
    addChange(counters.numItems, before.isCountedItem(), after.isCountedItem());
    addChange(counters.numNonResidentItems, before.isCountedNonResident(), after.isCountedNonResident());
    addChange(counters.numDeletedItems, before.isCountedDeleted(), after.isCountedDeleted());
    addChange(counters.numTempItems, before.isTempItem, after.isTempItem);
    addChange(counters.numSystemItems, before.isSystemItem, after.isSystemItem);
    addChange(counters.numPreparedSyncWrites, before.isCountedPrepared(), after.isCountedPrepared());
    const auto datatypeBefore = before.countedDatatype();
    const auto datatypeAfter = after.countedDatatype();
    if (datatypeBefore != datatypeAfter) {
        if (datatypeBefore) {
            counters.datatypeCounts[*datatypeBefore].add(-1);
        }
        if (datatypeAfter) {
            counters.datatypeCounts[*datatypeAfter].add(1);
        }
    }
}

}  // namespace hash_table
