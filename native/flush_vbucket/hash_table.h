// SPDX-License-Identifier: Apache-2.0
/// The vbucket's values in memory: chained buckets under a fixed number of locks.
#pragma once

#include <cstdint>
#include <forward_list>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flush_vbucket/item.h"

namespace flush_vbucket {

struct StoredValue {
    explicit StoredValue(std::string_view itemKey) : key{itemKey} {}

    std::string key;
    Value value;
    std::uint64_t cas = 0;
    std::uint64_t revision = 0;
    /// Whether the newest mutation is not on disk yet.
    bool isDirty = true;
    bool isDeleted = false;
};

class HashTable {
   public:
    static constexpr std::size_t defaultLocks = 47;

    /// The bucket of one key, locked during the lifetime of this object.
    class LockedBucket {
       public:
        LockedBucket(std::mutex& mutex, std::forward_list<StoredValue>& chain) : lock_{mutex}, chain_{&chain} {}

        /// Returns the key's value, or nullptr.
        [[nodiscard]] StoredValue* find(std::string_view key) const;
        /// Adds a dirty value for a key that the bucket does not have.
        StoredValue& add(std::string_view key);
        void remove(std::string_view key);

       private:
        std::unique_lock<std::mutex> lock_;
        std::forward_list<StoredValue>* chain_;
    };

    explicit HashTable(std::size_t buckets, std::size_t locks = defaultLocks);

    /// Locks the bucket of `key`.
    LockedBucket lockBucket(std::string_view key);

    /// Returns the number of dirty values. Locks one bucket at a time.
    [[nodiscard]] std::int64_t countDirty();

   private:
    std::vector<std::mutex> mutexes_;
    std::vector<std::forward_list<StoredValue>> chains_;
};

}  // namespace flush_vbucket
