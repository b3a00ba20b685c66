/// Room for many bytes that is not touched before something is put into it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "send_buffer/bytes.h"

namespace send_buffer {

/// Filling 20 MiB with zeros first would be a noticeable part of what the suite measures, most of all under a
/// sanitizer.
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
