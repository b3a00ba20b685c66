// SPDX-License-Identifier: Apache-2.0
/// Takes a vbucket's waiting mutations and writes the newest of each key to the store, in one transaction.
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
    /// Items that were written.
    std::size_t flushed = 0;
    bool hasMore = false;
};

class Flusher {
   public:
    /// So many items that each size that is measured is one transaction.
    static constexpr std::size_t defaultBatchItems = 1'000'000;

    Flusher() = default;
    virtual ~Flusher() = default;
    Flusher(const Flusher&) = delete;
    Flusher& operator=(const Flusher&) = delete;
    Flusher(Flusher&&) = delete;
    Flusher& operator=(Flusher&&) = delete;

    /// Flushes one batch. If another thread is flushing the vbucket it does nothing and says that there may be more.
    virtual FlushResult flush(VBucket& vbucket, KVStore& store) = 0;
};

/// Makes the flusher of the selected variant without telling its type.
std::unique_ptr<Flusher> makeFlusher();

/// The selected variant's name in results.
std::string_view callbackVariant();

/// Flushes until there is no more, or until the store fails; returns how many items were written.
std::size_t flushAll(Flusher& flusher, VBucket& vbucket, KVStore& store);

/// Puts items of the same key together, the newest first.
void sortForFlush(std::vector<QueuedItem>& items);

/// What was rejected earlier, and then what waits in the queue.
CheckpointQueue::Batch takeItems(VBucket& vbucket, std::size_t batchItems);

/// The state after `item`.
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
        auto state = store.state();  // first: if the store throws here, the items still wait
        auto batch = takeItems(vbucket, batchItems_);
        sortForFlush(batch.items);
        Transaction<Callback> transaction{store, vbucket};
        std::size_t added = 0;
        const Item* previous = nullptr;
        for (const auto& item : batch.items) {
            if (previous != nullptr && previous->key == item->key) {
                --vbucket.stats().diskQueueSize;  // a newer mutation of the key goes to disk
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
