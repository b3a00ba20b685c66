// SPDX-License-Identifier: Apache-2.0
/// The mutations that wait for the disk, in order, kept in checkpoints within which a key occurs once.
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

    /// Gives the item the next seqno and appends it. False if it took the place of an older one of its key, which the
    /// open checkpoint still held and nobody had taken.
    bool queueDirty(const QueuedItem& item);

    /// Hands out whole checkpoints, oldest first, until there are `enough` items. They stay here until
    /// removePersisted(). `reserved` items more are made room for.
    Batch take(std::size_t enough, std::size_t reserved = 0);

    /// Frees the checkpoints that were taken: another task's work, not the flusher's.
    void removePersisted();

   private:
    struct Checkpoint {
        std::list<QueuedItem> items;
        /// The keys are the items' own.
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
