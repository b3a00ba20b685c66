/// Sequences of bytes, owned and borrowed.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace send_buffer {

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

inline ByteView viewOf(std::string_view text) { return std::as_bytes(std::span{text}); }

/// The same bytes as characters, for functions that take those.
inline std::string_view textOf(ByteView bytes) {
    return {static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size()};
}

inline void append(Bytes& to, ByteView more) { to.insert(to.end(), more.begin(), more.end()); }

}  // namespace send_buffer
