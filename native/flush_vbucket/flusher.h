// SPDX-License-Identifier: Apache-2.0
/// The flush of a vbucket: its waiting mutations, reduced to the newest of each key, become one transaction of the
/// store.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "flush_vbucket/kv_store.h"
#include "flush_vbucket/transaction.h"
#include "flush_vbucket/vbucket.h"

namespace flush_vbucket {

struct FlushResult {
    /// The number of items written.
    std::size_t flushed = 0;
    bool hasMore = false;
};

class Flusher {
   public:
    /// Large enough that each measured size is a single transaction.
    static constexpr std::size_t defaultBatchItems = 1'000'000;

    Flusher() = default;
    virtual ~Flusher() = default;
    Flusher(const Flusher&) = delete;
    Flusher& operator=(const Flusher&) = delete;
    Flusher(Flusher&&) = delete;
    Flusher& operator=(Flusher&&) = delete;

    /// Flushes one batch. If another thread is flushing the vbucket, it does nothing and reports that there may be
    /// more.
    virtual FlushResult flush(VBucket& vbucket, KVStore& store) = 0;
};

/// Makes a flusher of the selected variant. Only this function's source includes the selected type.
std::unique_ptr<Flusher> makeFlusher();

/// Returns the selected variant's name in results.
std::string_view callbackVariant();

/// Flushes until nothing is left or the store fails; returns how many items were written.
std::size_t flushAll(Flusher& flusher, VBucket& vbucket, KVStore& store);

/// Sorts the items by key, and those of the same key from the newest to the oldest.
void sortForFlush(std::vector<QueuedItem>& items);

/// Returns the items that wait in the queue, and those whose earlier write failed.
CheckpointQueue::Batch takeItems(VBucket& vbucket, std::size_t batchItems);

/// Updates the state with `item`.
void advance(VBucketState& state, const Item& item);

template <typename Callback>
class FlusherOf : public Flusher {
   public:
    explicit FlusherOf(std::size_t batchItems = defaultBatchItems) : batchItems_{batchItems} {}

    FlushResult flush(VBucket& vbucket, KVStore& store) override {
        const std::unique_lock lock{vbucket.flushMutex(), std::try_to_lock};
        if (!lock) {
            return {.hasMore = true};
        }
        auto state = store.state();  // first: if the store throws here, no item has left the queue
        auto batch = takeItems(vbucket, batchItems_);
        sortForFlush(batch.items);
        Transaction<Callback> transaction{store, vbucket};
        std::size_t added = 0;
        const Item* previous = nullptr;
        for (const auto& item : batch.items) {
            if (previous != nullptr && previous->key == item->key) {
                --vbucket.stats().diskQueueSize;  // a newer mutation of the key is written
                continue;
            }
            previous = item.get();
            transaction.add(item);
            advance(state, *item);
            ++added;
        }
        const bool isCommitted = transaction.commit(state).isCommitted;
        return {.flushed = isCommitted ? added : 0, .hasMore = batch.hasMore || !vbucket.rejected().empty()};
    }

   private:
    std::size_t batchItems_;
};

}  // namespace flush_vbucket
