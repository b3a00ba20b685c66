// SPDX-License-Identifier: Apache-2.0
/// Store 1: a RocksDB database, if RocksDB was installed at build time.
#pragma once

#include <rocksdb/db.h>

#include <filesystem>
#include <memory>

#include "flush_vbucket/kv_store.h"

namespace flush_vbucket {

class RocksDBStore : public KVStore {
   public:
    /// Opens the database in `directory`, or creates an empty one.
    explicit RocksDBStore(const std::filesystem::path& directory);

    void commit(std::span<Document* const> documents, const VBucketState& state, const OnSaved& onSaved) override;
    [[nodiscard]] Contents readAll() const override;
    [[nodiscard]] VBucketState state() const override;

   private:
    [[nodiscard]] bool isThere(const rocksdb::Slice& key) const;

    std::unique_ptr<rocksdb::DB> database_;
};

}  // namespace flush_vbucket
