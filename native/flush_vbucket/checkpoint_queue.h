// SPDX-License-Identifier: Apache-2.0
/// The mutations that wait for the disk, in order, in checkpoints. Within a checkpoint a key occurs once.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "flush_vbucket/item.h"

namespace flush_vbucket {

class CheckpointQueue {
   public:
    static constexpr std::size_t defaultCheckpointItems = 10'000;

    struct Batch {
        std::vector<QueuedItem> items;
        bool hasMore = false;
    };

    explicit CheckpointQueue(std::size_t checkpointItems = defaultCheckpointItems)
        : checkpointItems_{checkpointItems} {}

    /// Gives the item the next seqno and appends it. Returns false if it replaced an older item of its key that was
    /// still in the open checkpoint.
    bool queueDirty(const QueuedItem& item);

    /// Returns the items of whole checkpoints, oldest first, until there are `enough` of them; reserves room for
    /// `reserved` more. The checkpoints stay in the queue until removePersisted().
    Batch take(std::size_t enough, std::size_t reserved = 0);

    /// Frees the checkpoints that were taken. The flusher leaves this to another task.
    void removePersisted();

   private:
    struct Checkpoint {
        std::list<QueuedItem> items;
        /// The keys point into the items.
        std::unordered_map<std::string_view, std::list<QueuedItem>::iterator> byKey;
    };

    Checkpoint& openCheckpoint();

    const std::size_t checkpointItems_;
    std::mutex mutex_;
    std::uint64_t seqno_ = 0;
    std::list<Checkpoint> taken_;
    /// The last one is open, unless it is full.
    std::list<Checkpoint> waiting_;
};

}  // namespace flush_vbucket
