// SPDX-License-Identifier: Apache-2.0
/// A mutation of a key, on its way from the front end to the disk.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "flush_vbucket/ref_counted.h"

namespace flush_vbucket {

enum class Datatype : std::uint8_t { Raw = 0, Json = 1 };

/// A value, which the hash table and the queue share.
struct Blob : RefCounted {
    explicit Blob(std::string content) : bytes{std::move(content)} {}

    const std::string bytes;
};
using Value = RefPtr<const Blob>;

/// An item must not change after it was queued.
struct Item : RefCounted {
    Item(std::string itemKey, Value itemValue) : key{std::move(itemKey)}, value{std::move(itemValue)} {}

    const std::string key;
    /// Empty for a deletion.
    const Value value;
    /// Distinguishes the mutations of a key.
    std::uint64_t cas = 0;
    /// The place in the vbucket's history; set by the queue.
    std::uint64_t seqno = 0;
    /// The number of mutations of the key so far.
    std::uint64_t revision = 1;
    std::uint32_t expiry = 0;
    std::uint32_t flags = 0;
    Datatype datatype = Datatype::Raw;
    bool isDeleted = false;
};
using QueuedItem = RefPtr<Item>;

}  // namespace flush_vbucket
