// SPDX-License-Identifier: Apache-2.0
/// How much a client may ask of the server.
#pragma once

#include <cstddef>

namespace send_buffer {

struct Limits {
    /// Of a document: its body, its user xattrs, and what its system xattrs need beyond their own room.
    std::size_t document = std::size_t{20} << 20U;
    /// The room that system xattrs have to themselves.
    std::size_t systemXattrs = std::size_t{1} << 20U;
    std::size_t xattrsPerDocument = 64;
    /// Of a packet without its header, and of a value when it is decompressed. A connection has room for both, and now
    /// and then for copies of a document.
    std::size_t packet = std::size_t{30} << 20U;
    /// Of all documents together.
    std::size_t bucket = std::size_t{128} << 20U;
    std::size_t connections = 16;
};

}  // namespace send_buffer
