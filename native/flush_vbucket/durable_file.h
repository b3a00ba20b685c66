// SPDX-License-Identifier: Apache-2.0
/// A file whose contents are safe when it says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace flush_vbucket {

/// Every member throws StoreError if the system refuses.
class DurableFile {
   public:
    /// Opens the file, or makes an empty one whose name survives a crash.
    explicit DurableFile(const std::filesystem::path& path);
    ~DurableFile();
    DurableFile(const DurableFile&) = delete;
    DurableFile& operator=(const DurableFile&) = delete;
    DurableFile(DurableFile&&) = delete;
    DurableFile& operator=(DurableFile&&) = delete;

    void write(std::uint64_t offset, std::span<const std::byte> bytes);
    /// `size` bytes from `offset` on, fewer at the file's end.
    [[nodiscard]] std::vector<std::byte> read(std::uint64_t offset, std::size_t size) const;
    [[nodiscard]] std::uint64_t size() const;
    void truncate(std::uint64_t size);
    /// Returns when all that was written has reached the disk.
    void sync();

   private:
    int descriptor_;
};

}  // namespace flush_vbucket
