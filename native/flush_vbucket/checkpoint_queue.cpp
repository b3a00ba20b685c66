// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/checkpoint_queue.h"

#include <iterator>
#include <numeric>

namespace flush_vbucket {

bool CheckpointQueue::queueDirty(const QueuedItem& item) {
    const std::lock_guard lock{mutex_};
    item->seqno = ++seqno_;
    Checkpoint& open = openCheckpoint();
    const auto older = open.byKey.find(item->key);
    const bool isNew = older == open.byKey.end();
    if (!isNew) {
        const auto place = older->second;
        open.byKey.erase(older);
        open.items.erase(place);
    }
    open.items.push_back(item);
    open.byKey.emplace(item->key, std::prev(open.items.end()));
    return isNew;
}

CheckpointQueue::Batch CheckpointQueue::take(std::size_t enough, std::size_t reserved) {
    const std::lock_guard lock{mutex_};
    std::size_t size = 0;
    auto end = waiting_.begin();
    for (; end != waiting_.end() && size < enough; ++end) {
        size += end->items.size();
    }
    Batch batch;
    batch.hasMore = end != waiting_.end();
    batch.items.reserve(size + reserved);
    for (auto checkpoint = waiting_.begin(); checkpoint != end; ++checkpoint) {
        batch.items.insert(batch.items.end(), checkpoint->items.begin(), checkpoint->items.end());
    }
    taken_.splice(taken_.end(), waiting_, waiting_.begin(), end);
    return batch;
}

void CheckpointQueue::removePersisted() {
    std::list<Checkpoint> removed;
    const std::lock_guard lock{mutex_};
    removed.swap(taken_);
}

CheckpointQueue::Checkpoint& CheckpointQueue::openCheckpoint() {
    if (waiting_.empty() || waiting_.back().items.size() >= checkpointItems_) {
        waiting_.emplace_back();
    }
    return waiting_.back();
}

}  // namespace flush_vbucket
