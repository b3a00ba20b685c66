// SPDX-License-Identifier: Apache-2.0
/// One mutation of a key, on its way from the front end to the disk.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "flush_vbucket/ref_counted.h"

namespace flush_vbucket {

enum class Datatype : std::uint8_t { Raw = 0, Json = 1 };

/// A value, shared by the hash table and the queue.
struct Blob : RefCounted {
    explicit Blob(std::string content) : bytes{std::move(content)} {}

    const std::string bytes;
};
using Value = RefPtr<const Blob>;

/// Changed by nobody once it is queued.
struct Item : RefCounted {
    Item(std::string itemKey, Value itemValue) : key{std::move(itemKey)}, value{std::move(itemValue)} {}

    const std::string key;
    /// Nothing for a deletion.
    const Value value;
    /// Tells one mutation of a key from another.
    std::uint64_t cas = 0;
    /// The place in the vbucket's history; the queue sets it.
    std::uint64_t seqno = 0;
    /// How many mutations the key has seen.
    std::uint64_t revision = 1;
    std::uint32_t expiry = 0;
    std::uint32_t flags = 0;
    Datatype datatype = Datatype::Raw;
    bool isDeleted = false;
};
using QueuedItem = RefPtr<Item>;

}  // namespace flush_vbucket
