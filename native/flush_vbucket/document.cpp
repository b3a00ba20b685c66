// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/document.h"

#include <stdexcept>

#include "flush_vbucket/byte_order.h"

namespace flush_vbucket {
namespace {

constexpr std::uint8_t metaVersion = 1;

}  // namespace

EncodedMeta encodeMeta(const Item& item) {
    EncodedMeta meta{};
    auto rest = putLittleEndian(std::span<std::byte>{meta}, metaVersion);
    rest = putLittleEndian(rest, item.cas);
    rest = putLittleEndian(rest, item.revision);
    rest = putLittleEndian(rest, item.expiry);
    rest = putLittleEndian(rest, item.flags);
    rest = putLittleEndian(rest, static_cast<std::uint8_t>(item.datatype));
    putLittleEndian(rest, static_cast<std::uint8_t>(item.isDeleted ? 1 : 0));
    return meta;
}

StoredDocument decodeDocument(std::span<const std::byte> meta, std::string_view value) {
    if (meta.size() != encodedMetaSize || takeLittleEndian<std::uint8_t>(meta) != metaVersion) {
        throw std::invalid_argument{"unknown kind of metadata"};
    }
    StoredDocument document{.value = std::string{value}};
    document.cas = takeLittleEndian<std::uint64_t>(meta);
    document.revision = takeLittleEndian<std::uint64_t>(meta);
    meta = meta.subspan(2 * sizeof(std::uint32_t));  // expiry and flags
    document.datatype = static_cast<Datatype>(takeLittleEndian<std::uint8_t>(meta));
    return document;
}

}  // namespace flush_vbucket
