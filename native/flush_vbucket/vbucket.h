// SPDX-License-Identifier: Apache-2.0
/// A shard of the data: its values in memory, and the mutations that the flusher has yet to write.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "flush_vbucket/checkpoint_queue.h"
#include "flush_vbucket/hash_table.h"
#include "flush_vbucket/item.h"

namespace flush_vbucket {

/// Counters that front-end threads and the flusher change.
struct VBucketStats {
    /// Written documents: those that were new on disk, those that replaced one, and deletions of one.
    std::atomic<std::int64_t> opsCreate{0};
    std::atomic<std::int64_t> opsUpdate{0};
    std::atomic<std::int64_t> opsDelete{0};
    /// Documents on disk.
    std::atomic<std::int64_t> numTotalItems{0};
    /// Mutations that are queued and not yet on disk.
    std::atomic<std::int64_t> diskQueueSize{0};
    std::atomic<std::int64_t> totalPersisted{0};
    /// Failed writes, which will be tried again.
    std::atomic<std::int64_t> flushFailed{0};
};

class VBucket {
   public:
    /// Makes room for `expectedItems` before buckets have to be shared.
    explicit VBucket(std::size_t expectedItems, std::size_t checkpointItems = CheckpointQueue::defaultCheckpointItems);

    /// Stores a value in memory and queues its write.
    void set(std::string key, std::string value, Datatype datatype = Datatype::Json);
    /// Marks a value deleted and queues its removal. Returns false if there is none.
    bool del(std::string key);
    /// Queues a mutation, whatever value is in memory.
    void queueDirty(const QueuedItem& item);

    HashTable& hashTable() { return hashTable_; }
    CheckpointQueue& checkpoints() { return checkpoints_; }
    VBucketStats& stats() { return stats_; }
    /// Held during a flush; guards rejected().
    std::mutex& flushMutex() { return flushMutex_; }
    /// Items whose write failed.
    std::vector<QueuedItem>& rejected() { return rejected_; }

   private:
    /// Overwrites `stored` with the item and queues it, both under the bucket's lock, so that the queue has the order
    /// of the table.
    void mutate(StoredValue& stored, const QueuedItem& item);

    HashTable hashTable_;
    CheckpointQueue checkpoints_;
    VBucketStats stats_;
    std::atomic<std::uint64_t> clock_{0};
    std::mutex flushMutex_;
    std::vector<QueuedItem> rejected_;
};

}  // namespace flush_vbucket
