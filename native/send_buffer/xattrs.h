// SPDX-License-Identifier: Apache-2.0
/// Extended attributes of a document: named values that are stored beside its body and count towards its size.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "send_buffer/bytes.h"
#include "send_buffer/limits.h"

namespace send_buffer {

struct Xattr {
    std::string name;
    Bytes value;

    /// The names of system xattrs begin with an underscore.
    [[nodiscard]] bool isSystem() const { return name.starts_with('_'); }
    bool operator==(const Xattr&) const = default;
};

using Xattrs = std::vector<Xattr>;

/// Returns the size of an xattr in a section: a length of 4 bytes, and name and value, each followed by a zero.
std::size_t encodedSize(const Xattr& xattr);

/// Encodes the section that precedes the body in a value with xattrs: its own length in 4 bytes, then each xattr.
Bytes encodeXattrs(const Xattrs& xattrs);

struct ValueWithXattrs {
    Xattrs xattrs;
    ByteView body;
};

/// Splits a value into its section and its body; returns nothing if the section is malformed, has two xattrs of one
/// name, or more than `most`.
std::optional<ValueWithXattrs> splitXattrs(ByteView value, std::size_t most);

/// Sets the xattr of that name, or adds it.
void upsert(Xattrs& xattrs, Xattr xattr);

/// Returns whether a document with that body and those xattrs is within its limit.
bool isWithin(const Limits& limits, std::size_t bodySize, const Xattrs& xattrs);

}  // namespace send_buffer
