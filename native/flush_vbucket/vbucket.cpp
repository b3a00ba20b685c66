// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/vbucket.h"

#include <utility>

namespace flush_vbucket {

VBucket::VBucket(std::size_t expectedItems, std::size_t checkpointItems)
    : hashTable_{expectedItems}, checkpoints_{checkpointItems} {}

void VBucket::set(std::string key, std::string value, Datatype datatype) {
    auto bucket = hashTable_.lockBucket(key);
    StoredValue* stored = bucket.find(key);
    if (stored == nullptr) {
        stored = &bucket.add(key);
    }
    const auto item = makeRef<Item>(std::move(key), Value{new Blob{std::move(value)}});
    item->datatype = datatype;
    mutate(*stored, item);
}

bool VBucket::del(std::string key) {
    const auto bucket = hashTable_.lockBucket(key);
    StoredValue* stored = bucket.find(key);
    if (stored == nullptr || stored->isDeleted) {
        return false;
    }
    const auto item = makeRef<Item>(std::move(key), Value{});
    item->isDeleted = true;
    mutate(*stored, item);
    return true;
}

void VBucket::queueDirty(const QueuedItem& item) {
    if (checkpoints_.queueDirty(item)) {
        ++stats_.diskQueueSize;
    }
}

void VBucket::mutate(StoredValue& stored, const QueuedItem& item) {
    item->cas = ++clock_;
    item->revision = ++stored.revision;
    stored.value = item->value;
    stored.cas = item->cas;
    stored.isDirty = true;
    stored.isDeleted = item->isDeleted;
    queueDirty(item);
}

}  // namespace flush_vbucket
