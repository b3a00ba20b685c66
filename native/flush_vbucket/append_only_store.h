// SPDX-License-Identifier: Apache-2.0
/// Store 0: a file that is only appended to, and an index in memory of the place of each key's newest document.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "flush_vbucket/durable_file.h"
#include "flush_vbucket/kv_store.h"
#include "flush_vbucket/record_format.h"

namespace flush_vbucket {

class AppendOnlyStore : public KVStore {
   public:
    static constexpr std::string_view fileName = "documents.log";

    /// Opens the store in `directory`, or creates an empty one. Bytes after the last complete transaction, left by a
    /// crash, are cut off.
    explicit AppendOnlyStore(const std::filesystem::path& directory);

    void commit(std::span<Document* const> documents, const VBucketState& state, const OnSaved& onSaved) override;
    [[nodiscard]] Contents readAll() const override;
    [[nodiscard]] VBucketState state() const override { return state_; }

   private:
    struct Place {
        std::uint64_t offset = 0;
        std::uint64_t size = 0;
    };

    void replay();
    /// Appends the whole transaction to the file; returns the file's new size.
    std::uint64_t write(std::span<Document* const> documents, const VBucketState& state);
    /// Writes the buffer to the file at `offset` and empties it; returns the offset after it.
    std::uint64_t drain(std::uint64_t offset);

    DurableFile file_;
    std::uint64_t committedSize_ = 0;
    VBucketState state_;
    std::unordered_map<std::string, Place> index_;
    std::vector<std::byte> buffer_;
};

}  // namespace flush_vbucket
