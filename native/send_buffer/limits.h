// SPDX-License-Identifier: Apache-2.0
/// Limits for the requests of a client.
#pragma once

#include <cstddef>

namespace send_buffer {

struct Limits {
    /// The size of a document: its body, its user xattrs, and the part of its system xattrs that exceeds their own
    /// room.
    std::size_t document = std::size_t{20} << 20U;
    /// The room that is reserved for system xattrs.
    std::size_t systemXattrs = std::size_t{1} << 20U;
    std::size_t xattrsPerDocument = 64;
    /// The size of a packet without its header, and of a decompressed value. A connection needs memory for both, and at
    /// times for copies of a document.
    std::size_t packet = std::size_t{30} << 20U;
    /// The size of all documents together.
    std::size_t bucket = std::size_t{128} << 20U;
    std::size_t connections = 16;
};

}  // namespace send_buffer
