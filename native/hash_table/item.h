// SPDX-License-Identifier: Apache-2.0
/// An item that a client asks the table to keep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace hash_table {

/// The encoding of a value: three independent bits.
using Datatype = std::uint8_t;
constexpr Datatype rawDatatype = 0;
constexpr Datatype jsonDatatype = 1;
constexpr Datatype snappyDatatype = 2;
constexpr Datatype xattrDatatype = 4;
/// The number of combinations of the bits.
constexpr std::size_t datatypeCount = 8;

struct Item {
    std::string key;
    std::string value;
    Datatype datatype = rawDatatype;
    /// Size of the value before it was compressed; 0 if it is not compressed.
    std::uint32_t inflatedSize = 0;
    bool isDeleted = false;
    /// A placeholder for a key about which only the disk knows more.
    bool isTemp = false;
    /// Belongs to the server, not to a client.
    bool isSystem = false;
    /// A prepared SyncWrite, which lives beside the committed value of its key.
    bool isPending = false;
};

}  // namespace hash_table
