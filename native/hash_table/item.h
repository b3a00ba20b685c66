// SPDX-License-Identifier: Apache-2.0
/// What a client asks the table to keep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace hash_table {

/// How a value is encoded: three independent bits.
using Datatype = std::uint8_t;
constexpr Datatype rawDatatype = 0;
constexpr Datatype jsonDatatype = 1;
constexpr Datatype snappyDatatype = 2;
constexpr Datatype xattrDatatype = 4;
/// Every combination of the bits.
constexpr std::size_t datatypeCount = 8;

struct Item {
    std::string key;
    std::string value;
    Datatype datatype = rawDatatype;
    /// Bytes of the value before it was compressed; 0 if it is not.
    std::uint32_t inflatedSize = 0;
    bool isDeleted = false;
    /// Stands for a key of which only the disk knows more.
    bool isTemp = false;
    /// Belongs to the server, not to a client.
    bool isSystem = false;
    /// A prepared SyncWrite, which lives beside the committed value of its key.
    bool isPending = false;
};

}  // namespace hash_table
