// SPDX-License-Identifier: Apache-2.0
/// A file that can confirm that its contents are on disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace flush_vbucket {

/// Every member function throws StoreError if the system refuses.
class DurableFile {
   public:
    /// Opens the file, or creates an empty one whose name survives a crash.
    explicit DurableFile(const std::filesystem::path& path);
    ~DurableFile();
    DurableFile(const DurableFile&) = delete;
    DurableFile& operator=(const DurableFile&) = delete;
    DurableFile(DurableFile&&) = delete;
    DurableFile& operator=(DurableFile&&) = delete;

    void write(std::uint64_t offset, std::span<const std::byte> bytes);
    /// Returns `size` bytes from `offset` on, or fewer at the end of the file.
    [[nodiscard]] std::vector<std::byte> read(std::uint64_t offset, std::size_t size) const;
    [[nodiscard]] std::uint64_t size() const;
    void truncate(std::uint64_t size);
    /// Returns when everything that was written is on disk.
    void sync();

   private:
    int descriptor_;
};

}  // namespace flush_vbucket
