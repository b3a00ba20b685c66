// SPDX-License-Identifier: Apache-2.0
/// A mutation in the form that a store takes. The store neither owns nor copies the data that the views point to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "flush_vbucket/item.h"

namespace flush_vbucket {

constexpr std::size_t encodedMetaSize = 27;
using EncodedMeta = std::array<std::byte, encodedMetaSize>;

/// Encodes all that is stored of an item besides its key, its value and its place in the history.
EncodedMeta encodeMeta(const Item& item);

enum class ContentKind : std::uint8_t { Binary = 0, Json = 1 };

struct DocumentBody {
    std::string_view key = {};
    std::string_view value = {};
};

struct DocumentInfo {
    std::string_view key = {};
    std::uint64_t seqno = 0;
    std::uint64_t revision = 0;
    std::span<const std::byte> meta = {};
    bool isDeleted = false;
    ContentKind content = ContentKind::Binary;
    /// Set by a store that keeps documents at places of a file.
    std::uint64_t offset = 0;
    std::uint64_t physicalSize = 0;
};

struct Document {
    DocumentBody body;
    DocumentInfo info;
};

/// A document as read from disk.
struct StoredDocument {
    std::string value;
    std::uint64_t cas = 0;
    std::uint64_t revision = 0;
    Datatype datatype = Datatype::Raw;

    bool operator==(const StoredDocument&) const = default;
};

/// Throws std::invalid_argument if `meta` does not come from encodeMeta().
StoredDocument decodeDocument(std::span<const std::byte> meta, std::string_view value);

}  // namespace flush_vbucket
