// SPDX-License-Identifier: Apache-2.0
/// One shard of the data: its values in memory, and the mutations that the flusher has yet to write.
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

/// Changed by front-end threads and by the flusher.
struct VBucketStats {
    /// Documents that were new on disk, that replaced one there, and that were removed from there.
    std::atomic<std::int64_t> opsCreate{0};
    std::atomic<std::int64_t> opsUpdate{0};
    std::atomic<std::int64_t> opsDelete{0};
    /// Documents on disk.
    std::atomic<std::int64_t> numTotalItems{0};
    /// Mutations queued and not yet on disk.
    std::atomic<std::int64_t> diskQueueSize{0};
    std::atomic<std::int64_t> totalPersisted{0};
    /// Writes that failed and will be tried again.
    std::atomic<std::int64_t> flushFailed{0};
};

class VBucket {
   public:
    /// With room for `expectedItems` before buckets have to be shared.
    explicit VBucket(std::size_t expectedItems, std::size_t checkpointItems = CheckpointQueue::defaultCheckpointItems);

    /// Stores a value in memory and queues its write.
    void set(std::string key, std::string value, Datatype datatype = Datatype::Json);
    /// Marks a value deleted and queues its removal. False if there is none.
    bool del(std::string key);
    /// Queues a mutation whatever is in memory.
    void queueDirty(const QueuedItem& item);

    HashTable& hashTable() { return hashTable_; }
    CheckpointQueue& checkpoints() { return checkpoints_; }
    VBucketStats& stats() { return stats_; }
    /// Held by whoever flushes; guards rejected().
    std::mutex& flushMutex() { return flushMutex_; }
    /// Items whose write failed.
    std::vector<QueuedItem>& rejected() { return rejected_; }

   private:
    /// Writes the item over `stored` and queues it, under the bucket's lock: the queue's order is the table's.
    void mutate(StoredValue& stored, const QueuedItem& item);

    HashTable hashTable_;
    CheckpointQueue checkpoints_;
    VBucketStats stats_;
    std::atomic<std::uint64_t> clock_{0};
    std::mutex flushMutex_;
    std::vector<QueuedItem> rejected_;
};

}  // namespace flush_vbucket
