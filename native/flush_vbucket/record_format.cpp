// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/record_format.h"

#include <algorithm>
#include <array>
#include <limits>

#include "flush_vbucket/byte_order.h"
#include "flush_vbucket/kv_store.h"

namespace flush_vbucket {
namespace {

constexpr std::uint32_t polynomial = 0xEDB88320;
constexpr std::uint32_t byteMask = 0xFF;

constexpr std::array<std::uint32_t, 256> makeTable() {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
        std::uint32_t remainder = byte;
        for (int bit = 0; bit < 8; ++bit) {
            remainder = (remainder >> 1U) ^ ((remainder & 1U) == 0 ? 0 : polynomial);
        }
        table[byte] = remainder;
    }
    return table;
}

constexpr auto table = makeTable();

constexpr std::size_t crcSize = 4;
constexpr std::size_t headerSize = crcSize + 1 + 1 + 2 + 4 + 8;

bool isKnown(RecordKind kind) {
    return kind == RecordKind::Set || kind == RecordKind::Delete || kind == RecordKind::Commit;
}

template <typename Length>
Length lengthOf(std::size_t size) {
    if (size > std::numeric_limits<Length>::max()) {
        throw StoreError{"a document is too long to be stored"};
    }
    return static_cast<Length>(size);
}

std::span<std::byte> copyTo(std::span<std::byte> to, std::span<const std::byte> from) {
    std::copy(from.begin(), from.end(), to.begin());
    return to.subspan(from.size());
}

/// Removes the first `size` bytes from `bytes` and returns them.
std::span<const std::byte> takeBytes(std::span<const std::byte>& bytes, std::size_t size) {
    const auto taken = bytes.first(size);
    bytes = bytes.subspan(size);
    return taken;
}

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes) {
    std::uint32_t remainder = ~std::uint32_t{0};
    for (const std::byte byte : bytes) {
        remainder = (remainder >> 8U) ^ table[(remainder ^ std::to_integer<std::uint32_t>(byte)) & byteMask];
    }
    return ~remainder;
}

std::string_view asText(std::span<const std::byte> bytes) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes may be read as characters
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::size_t recordSize(const Record& record) {
    return headerSize + record.meta.size() + record.key.size() + record.value.size();
}

void appendRecord(std::vector<std::byte>& bytes, const Record& record) {
    const std::size_t start = bytes.size();
    bytes.resize(start + recordSize(record));
    const auto whole = std::span{bytes}.subspan(start);
    const auto checked = whole.subspan(crcSize);
    auto rest = putLittleEndian(checked, static_cast<std::uint8_t>(record.kind));
    rest = putLittleEndian(rest, lengthOf<std::uint8_t>(record.meta.size()));
    rest = putLittleEndian(rest, lengthOf<std::uint16_t>(record.key.size()));
    rest = putLittleEndian(rest, lengthOf<std::uint32_t>(record.value.size()));
    rest = putLittleEndian(rest, record.seqno);
    rest = copyTo(rest, record.meta);
    rest = copyTo(rest, std::as_bytes(std::span{record.key}));
    copyTo(rest, record.value);
    putLittleEndian(whole, crc32(checked));
}

std::optional<Record> parseRecord(std::span<const std::byte> bytes) {
    if (bytes.size() < headerSize) {
        return std::nullopt;
    }
    auto rest = bytes;
    const auto crc = takeLittleEndian<std::uint32_t>(rest);
    Record record{.kind = static_cast<RecordKind>(takeLittleEndian<std::uint8_t>(rest))};
    const std::size_t metaSize = takeLittleEndian<std::uint8_t>(rest);
    const std::size_t keySize = takeLittleEndian<std::uint16_t>(rest);
    const std::size_t valueSize = takeLittleEndian<std::uint32_t>(rest);
    record.seqno = takeLittleEndian<std::uint64_t>(rest);
    if (rest.size() < metaSize + keySize + valueSize) {
        return std::nullopt;
    }
    record.meta = takeBytes(rest, metaSize);
    record.key = asText(takeBytes(rest, keySize));
    record.value = takeBytes(rest, valueSize);
    record.size = recordSize(record);
    if (!isKnown(record.kind) || crc32(bytes.first(record.size).subspan(crcSize)) != crc) {
        return std::nullopt;
    }
    return record;
}

}  // namespace flush_vbucket
