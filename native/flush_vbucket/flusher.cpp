// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/flusher.h"

#include <algorithm>
#include <iterator>

namespace flush_vbucket {

void sortForFlush(std::vector<QueuedItem>& items) {
    std::sort(items.begin(), items.end(), [](const QueuedItem& left, const QueuedItem& right) {
        const int order = left->key.compare(right->key);
        return order < 0 || (order == 0 && left->seqno > right->seqno);
    });
}

CheckpointQueue::Batch takeItems(VBucket& vbucket, std::size_t batchItems) {
    auto& rejected = vbucket.rejected();
    auto batch = vbucket.checkpoints().take(batchItems, rejected.size());
    std::move(rejected.begin(), rejected.end(), std::back_inserter(batch.items));
    rejected.clear();
    return batch;
}

std::size_t flushAll(Flusher& flusher, VBucket& vbucket, KVStore& store) {
    std::size_t flushed = 0;
    FlushResult last;
    do {
        last = flusher.flush(vbucket, store);
        flushed += last.flushed;
    } while (last.hasMore && last.flushed > 0);
    return flushed;
}

void advance(VBucketState& state, const Item& item) {
    state.highSeqno = std::max(state.highSeqno, item.seqno);
    state.maxCas = std::max(state.maxCas, item.cas);
    if (item.isDeleted) {
        state.maxDeletedRevision = std::max(state.maxDeletedRevision, item.revision);
    }
}

}  // namespace flush_vbucket
