// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/hash_table.h"

#include <algorithm>
#include <functional>

namespace flush_vbucket {

StoredValue* HashTable::LockedBucket::find(std::string_view key) const {
    const auto found =
        std::find_if(chain_->begin(), chain_->end(), [key](const StoredValue& stored) { return stored.key == key; });
    return found == chain_->end() ? nullptr : &*found;
}

StoredValue& HashTable::LockedBucket::add(std::string_view key) { return chain_->emplace_front(key); }

void HashTable::LockedBucket::remove(std::string_view key) {
    chain_->remove_if([key](const StoredValue& stored) { return stored.key == key; });
}

HashTable::HashTable(std::size_t buckets, std::size_t locks)
    : mutexes_(std::max<std::size_t>(locks, 1)), chains_(std::max<std::size_t>(buckets, 1)) {}

HashTable::LockedBucket HashTable::lockBucket(std::string_view key) {
    const std::size_t bucket = std::hash<std::string_view>{}(key) % chains_.size();
    return {mutexes_[bucket % mutexes_.size()], chains_[bucket]};
}

std::int64_t HashTable::countDirty() {
    std::int64_t dirty = 0;
    for (std::size_t bucket = 0; bucket < chains_.size(); ++bucket) {
        const std::lock_guard lock{mutexes_[bucket % mutexes_.size()]};
        dirty += std::count_if(chains_[bucket].begin(), chains_[bucket].end(),
                               [](const StoredValue& stored) { return stored.isDirty; });
    }
    return dirty;
}

}  // namespace flush_vbucket
