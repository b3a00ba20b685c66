// SPDX-License-Identifier: Apache-2.0
/// A snapshot of the properties of a value on which the statistics depend, taken before and after it changes.
#pragma once

#include <cstddef>
#include <optional>

#include "hash_table/stored_value.h"

namespace hash_table {

/// The default is the snapshot of no value, which counts nowhere.
struct ValueProperties {
    std::size_t size = 0;
    std::size_t metaDataSize = 0;
    std::size_t uncompressedSize = 0;
    Datatype datatype = rawDatatype;
    bool isValid = false;
    bool isResident = false;
    bool isDeleted = false;
    bool isTempItem = false;
    bool isSystemItem = false;
    bool isPreparedSyncWrite = false;

    [[nodiscard]] bool isCountedItem() const { return isValid && !isTempItem; }
    [[nodiscard]] bool isCountedNonResident() const { return isCountedItem() && !isResident && !isDeleted; }
    [[nodiscard]] bool isCountedDeleted() const { return isDeleted && !isSystemItem && !isPreparedSyncWrite; }
    [[nodiscard]] bool isCountedPrepared() const { return isValid && isPreparedSyncWrite; }
    /// Returns the datatype under which the value counts, if it counts.
    [[nodiscard]] std::optional<std::size_t> countedDatatype() const {
        const bool isCounted = isCountedItem() && !isDeleted && !isPreparedSyncWrite;
        return isCounted ? std::optional<std::size_t>{datatype} : std::nullopt;
    }
};

inline ValueProperties propertiesOf(const StoredValue* value) {
    if (value == nullptr) {
        return {};
    }
    return {.size = value->size(),
            .metaDataSize = value->metaDataSize(),
            .uncompressedSize = value->uncompressedSize(),
            .datatype = value->datatype(),
            .isValid = true,
            .isResident = value->isResident(),
            .isDeleted = value->isDeleted(),
            .isTempItem = value->isTemp(),
            .isSystemItem = value->isSystem(),
            .isPreparedSyncWrite = value->isPending()};
}

}  // namespace hash_table
