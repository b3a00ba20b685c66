// SPDX-License-Identifier: Apache-2.0
/// Extended attributes of a document: named values that are stored beside its body, and count towards its size.
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

    /// System xattrs are those whose name begins with an underscore.
    [[nodiscard]] bool isSystem() const { return name.starts_with('_'); }
    bool operator==(const Xattr&) const = default;
};

using Xattrs = std::vector<Xattr>;

/// What one takes in a section: a length of 4 bytes, and name and value, each with a zero after it.
std::size_t encodedSize(const Xattr& xattr);

/// The section that stands before the body in a value with xattrs: its own length in 4 bytes, then one after the other.
Bytes encodeXattrs(const Xattrs& xattrs);

struct ValueWithXattrs {
    Xattrs xattrs;
    ByteView body;
};

/// Takes a section off a value; nothing if it is malformed, names one xattr twice, or has more than `most`.
std::optional<ValueWithXattrs> splitXattrs(ByteView value, std::size_t most);

/// Sets the one of that name, or adds it.
void upsert(Xattrs& xattrs, Xattr xattr);

/// Whether a document of that body and those xattrs is within its limit.
bool isWithin(const Limits& limits, std::size_t bodySize, const Xattrs& xattrs);

}  // namespace send_buffer
