// SPDX-License-Identifier: Apache-2.0
/// A hash table with chains, whose buckets share a fixed number of locks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>
#include <vector>

#include "harness/topology.h"
#include "hash_table/per_core_counter.h"
#include "hash_table/stored_value.h"
#include "hash_table/table_statistics.h"

namespace hash_table {

constexpr std::size_t defaultBuckets = 47;
constexpr std::size_t defaultLocks = 47;

/// Whether the value that a mutation replaced was waiting for the disk.
enum class MutationStatus : std::uint8_t { WasClean, WasDirty };

/// The head of a chain, and the lock that guards it.
struct LockedBucket {
    std::unique_lock<std::mutex> lock;
    Link& head;
};

/// A value, or nullptr, with the lock of its bucket.
template <typename Value>
struct Found {
    LockedBucket bucket;
    Value* value;
};

/// A table in which a key may have two values: the committed one and a pending SyncWrite. Any thread may call any
/// member function, unless its comment says otherwise.
template <typename Variant>
class HashTable {
   public:
    /// There must be at least one bucket and one lock.
    HashTable(const benchgate::Topology& topology, PerCoreCounter& bucketMetaData, std::size_t buckets = defaultBuckets,
              std::size_t locks = defaultLocks);
    ~HashTable();
    HashTable(const HashTable&) = delete;
    HashTable& operator=(const HashTable&) = delete;
    HashTable(HashTable&&) = delete;
    HashTable& operator=(HashTable&&) = delete;

    /// Adds or replaces the key's committed value, or its pending one if the item is pending.
    MutationStatus set(const Item& item);

    /// Finds the committed value.
    Found<const StoredValue> findForRead(std::string_view key);

    /// Finds the pending value if there is one, else the committed one. The caller must not change what the statistics
    /// count.
    Found<StoredValue> findForWrite(std::string_view key);

    /// Deletes the value, which must not be nullptr, and releases the lock.
    void remove(Found<StoredValue> found);

    /// Changes the number of buckets, which must be at least one.
    void resize(std::size_t buckets);
    void clear();

    /// Calls `visit` for each value, with the whole table locked.
    void visit(const std::function<void(const StoredValue&)>& visit);

    /// Returns the totals, which are exact if no thread changes the table meanwhile.
    [[nodiscard]] Totals totals() const { return statistics_.totals(); }
    [[nodiscard]] std::size_t statisticsBytes() const { return statistics_.bytes(); }
    [[nodiscard]] std::size_t bucketCount() const { return bucketCount_.load(std::memory_order_relaxed); }

   private:
    using AllLocks = std::vector<std::unique_lock<std::mutex>>;

    LockedBucket lockBucket(std::string_view key);
    AllLocks lockAll();
    MutationStatus update(StoredValue& value, const Item& item);
    void add(Link& head, const Item& item);

    // Changes only under all locks, so that any one lock is enough to read it safely. If it is read without a lock, it
    // may be outdated.
    std::atomic<std::size_t> bucketCount_;
    std::vector<Link> buckets_;
    // Bucket b is guarded by mutex b modulo their number.
    std::vector<std::mutex> mutexes_;
    TableStatistics<Variant> statistics_;
};

}  // namespace hash_table
