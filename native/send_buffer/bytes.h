// SPDX-License-Identifier: Apache-2.0
/// Sequences of bytes, owned and borrowed.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace send_buffer {

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

inline ByteView viewOf(std::string_view text) { return std::as_bytes(std::span{text}); }

/// Returns the same bytes as characters, for functions that take those.
inline std::string_view textOf(ByteView bytes) {
    return {static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size()};
}

inline void append(Bytes& to, ByteView more) { to.insert(to.end(), more.begin(), more.end()); }

/// Uninitialised memory for many bytes. Filling 20 MiB with zeros first would be a noticeable part of what the suite
/// measures, most of all under a sanitizer.
class RawBuffer {
   public:
    RawBuffer() = default;
    explicit RawBuffer(std::size_t capacity)
        // NOLINTNEXTLINE(cppcoreguidelines-avoid-c-arrays,modernize-avoid-c-arrays): no container leaves it untouched
        : bytes_{std::make_unique_for_overwrite<std::byte[]>(capacity)}, capacity_{capacity} {}

    [[nodiscard]] std::size_t capacity() const { return capacity_; }
    std::span<std::byte> first(std::size_t count) { return {bytes_.get(), count}; }
    [[nodiscard]] ByteView view() const { return {bytes_.get(), capacity_}; }

   private:
    std::unique_ptr<std::byte[]> bytes_;  // NOLINT(cppcoreguidelines-avoid-c-arrays,modernize-avoid-c-arrays): as above
    std::size_t capacity_ = 0;
};

}  // namespace send_buffer
