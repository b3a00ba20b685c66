// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/write_result.h"

namespace flush_vbucket {
namespace {

void reject(VBucket& vbucket, const QueuedItem& item, std::uint64_t cas) {
    {
        const auto bucket = vbucket.hashTable().lockBucket(item->key);
        StoredValue* stored = bucket.find(item->key);
        if (stored != nullptr && stored->cas == cas) {
            stored->isDirty = true;
        }
    }
    vbucket.rejected().push_back(item);
    ++vbucket.stats().flushFailed;
}

void countPersisted(VBucketStats& stats) {
    --stats.diskQueueSize;
    ++stats.totalPersisted;
}

}  // namespace

void applyResult(VBucket& vbucket, const QueuedItem& item, std::uint64_t cas, SetResult result) {
    if (result == SetResult::Failed) {
        reject(vbucket, item, cas);
        return;
    }
    {
        const auto bucket = vbucket.hashTable().lockBucket(item->key);
        StoredValue* stored = bucket.find(item->key);
        if (stored != nullptr && stored->cas == cas) {
            stored->isDirty = false;
        }
    }
    VBucketStats& stats = vbucket.stats();
    if (result == SetResult::Insert) {
        ++stats.opsCreate;
        ++stats.numTotalItems;
    } else {
        ++stats.opsUpdate;
    }
    countPersisted(stats);
}

void applyResult(VBucket& vbucket, const QueuedItem& item, std::uint64_t cas, DeleteResult result) {
    if (result == DeleteResult::Failed) {
        reject(vbucket, item, cas);
        return;
    }
    {
        auto bucket = vbucket.hashTable().lockBucket(item->key);
        const StoredValue* stored = bucket.find(item->key);
        if (stored != nullptr && stored->cas == cas) {
            bucket.remove(item->key);
        }
    }
    VBucketStats& stats = vbucket.stats();
    if (result == DeleteResult::Success) {
        ++stats.opsDelete;
        --stats.numTotalItems;
    }
    countPersisted(stats);
}

}  // namespace flush_vbucket
