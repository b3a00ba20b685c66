// SPDX-License-Identifier: Apache-2.0
#include "hash_table/reference_totals.h"

#include <cstdint>
#include <vector>

#include "harness/checked_benchmark.h"

namespace hash_table {

void countInReference(Totals& totals, const StoredValue& value) {
    const auto bytes = static_cast<std::int64_t>(value.size());
    totals.cacheSize += bytes;
    totals.memSize += bytes;
    totals.metaDataMemory += static_cast<std::int64_t>(value.metaDataSize());
    totals.uncompressedMemSize += static_cast<std::int64_t>(value.uncompressedSize());
    totals.numSystemItems += value.isSystem() ? 1 : 0;
    totals.numPreparedSyncWrites += value.isPending() ? 1 : 0;
    totals.numDeletedItems += value.isDeleted() && !value.isSystem() && !value.isPending() ? 1 : 0;
    if (value.isTemp()) {
        ++totals.numTempItems;
        return;
    }
    ++totals.numItems;
    if (!value.isDeleted()) {
        totals.numNonResidentItems += value.isResident() ? 0 : 1;
        totals.datatypeCounts[value.datatype()] += value.isPending() ? 0 : 1;
    }
}

std::optional<std::string> differenceBetween(const Totals& expected, const Totals& actual) {
    std::vector<std::int64_t> numbers;
    visitCounters(expected, [&numbers](auto&&, std::int64_t number) { numbers.push_back(number); });
    std::optional<std::string> difference;
    auto next = numbers.begin();
    visitCounters(actual, [&](const std::string& name, std::int64_t number) {
        if (!difference) {
            difference = benchgate::compare(name, *next, number);
        }
        ++next;
    });
    return difference;
}

}  // namespace hash_table
