// SPDX-License-Identifier: Apache-2.0
#include "hash_table/hash_table.h"

#include <memory>
#include <utility>

#include "hash_table/per_core_statistics.h"
#include "hash_table/per_llc_statistics.h"
#include "hash_table/single_statistics.h"

namespace hash_table {
namespace {

std::size_t bucketOf(std::string_view key, std::size_t buckets) { return std::hash<std::string_view>{}(key) % buckets; }

StoredValue* findInChain(const Link& head, std::string_view key, bool isPending) {
    StoredValue* value = head.get();
    while (value != nullptr && (value->isPending() != isPending || value->key() != key)) {
        value = value->next.get();
    }
    return value;
}

/// Removes the first node from a chain and returns it.
Link popFront(Link& head) {
    Link first = std::move(head);
    head = std::move(first->next);
    return first;
}

/// Returns the link that owns the node, which must be in the chain.
Link& linkTo(Link& head, const StoredValue* value) {
    Link* link = &head;
    while (link->get() != value) {
        link = &(*link)->next;
    }
    return *link;
}

}  // namespace

template <typename Variant>
HashTable<Variant>::HashTable(const benchgate::Topology& topology, PerCoreCounter& bucketMetaData, std::size_t buckets,
                              std::size_t locks)
    : bucketCount_{buckets}, buckets_(buckets), mutexes_(locks), statistics_{topology, bucketMetaData} {}

template <typename Variant>
HashTable<Variant>::~HashTable() {
    clear();
}

template <typename Variant>
MutationStatus HashTable<Variant>::set(const Item& item) {
    const LockedBucket bucket = lockBucket(item.key);
    if (StoredValue* const value = findInChain(bucket.head, item.key, item.isPending)) {
        return update(*value, item);
    }
    add(bucket.head, item);
    return MutationStatus::WasClean;
}

template <typename Variant>
Found<const StoredValue> HashTable<Variant>::findForRead(std::string_view key) {
    LockedBucket bucket = lockBucket(key);
    const StoredValue* const committed = findInChain(bucket.head, key, false);
    return {std::move(bucket), committed};
}

template <typename Variant>
Found<StoredValue> HashTable<Variant>::findForWrite(std::string_view key) {
    LockedBucket bucket = lockBucket(key);
    StoredValue* const pending = findInChain(bucket.head, key, true);
    StoredValue* const value = pending == nullptr ? findInChain(bucket.head, key, false) : pending;
    return {std::move(bucket), value};
}

template <typename Variant>
void HashTable<Variant>::remove(Found<StoredValue> found) {
    Link& link = linkTo(found.bucket.head, found.value);
    const auto before = statistics_.prologue(found.value);
    popFront(link).reset();
    statistics_.epilogue(before, nullptr);
}

template <typename Variant>
void HashTable<Variant>::resize(std::size_t buckets) {
    const AllLocks locks = lockAll();
    std::vector<Link> resized(buckets);
    for (Link& head : buckets_) {
        while (head != nullptr) {
            Link value = popFront(head);
            Link& newHead = resized[bucketOf(value->key(), buckets)];
            value->next = std::move(newHead);
            newHead = std::move(value);
        }
    }
    buckets_ = std::move(resized);
    bucketCount_.store(buckets, std::memory_order_relaxed);
}

template <typename Variant>
void HashTable<Variant>::clear() {
    const AllLocks locks = lockAll();
    for (Link& head : buckets_) {
        // One by one, because the destructor of a long chain would recurse once per node.
        while (head != nullptr) {
            popFront(head).reset();
        }
    }
    statistics_.reset();
}

template <typename Variant>
void HashTable<Variant>::visit(const std::function<void(const StoredValue&)>& visit) {
    const AllLocks locks = lockAll();
    for (const Link& head : buckets_) {
        for (const StoredValue* value = head.get(); value != nullptr; value = value->next.get()) {
            visit(*value);
        }
    }
}

template <typename Variant>
LockedBucket HashTable<Variant>::lockBucket(std::string_view key) {
    const std::size_t hash = std::hash<std::string_view>{}(key);
    while (true) {
        const std::size_t bucket = hash % bucketCount();
        std::unique_lock lock{mutexes_[bucket % mutexes_.size()]};
        // Another thread may have resized the table before this one had the lock.
        if (bucket == hash % bucketCount()) {
            return {std::move(lock), buckets_[bucket]};
        }
    }
}

template <typename Variant>
typename HashTable<Variant>::AllLocks HashTable<Variant>::lockAll() {
    AllLocks locks;
    locks.reserve(mutexes_.size());
    for (std::mutex& mutex : mutexes_) {
        locks.emplace_back(mutex);
    }
    return locks;
}

template <typename Variant>
MutationStatus HashTable<Variant>::update(StoredValue& value, const Item& item) {
    const auto before = statistics_.prologue(&value);
    const auto status = value.isDirty() ? MutationStatus::WasDirty : MutationStatus::WasClean;
    value.update(item);
    statistics_.epilogue(before, &value);
    return status;
}

template <typename Variant>
void HashTable<Variant>::add(Link& head, const Item& item) {
    const auto before = statistics_.prologue(nullptr);
    head = std::make_unique<StoredValue>(item, std::move(head));
    statistics_.epilogue(before, head.get());
}

template class HashTable<SingleStatistics>;
template class HashTable<PerLlcStatistics>;
template class HashTable<PerCoreStatistics>;

}  // namespace hash_table
