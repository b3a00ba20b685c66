// SPDX-License-Identifier: Apache-2.0
/// The layout of the append-only file: records with a checksum that proves each complete.
///
/// A record is crc32 (4 bytes, of all that follows), kind (1), length of the metadata (1), of the key (2) and of the
/// value (4), seqno (8); then metadata, key and value. Numbers are little-endian. A transaction is its documents'
/// records and a commit record, whose value is the vbucket's state. Without the commit record, readers ignore the
/// transaction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace flush_vbucket {

enum class RecordKind : std::uint8_t { Set = 1, Delete = 2, Commit = 3 };

/// A record, as views into bytes that it does not own.
struct Record {
    RecordKind kind = RecordKind::Set;
    std::uint64_t seqno = 0;
    std::span<const std::byte> meta = {};
    std::string_view key = {};
    std::span<const std::byte> value = {};
    /// The size of the whole record in the file; set by parseRecord().
    std::size_t size = 0;
};

/// Computes the CRC-32 of IEEE 802.3, reflected polynomial 0xEDB88320.
std::uint32_t crc32(std::span<const std::byte> bytes);

/// Returns the record's size in a file.
std::size_t recordSize(const Record& record);

/// Appends the record to `bytes`. Throws StoreError if a part is longer than its length field can hold.
void appendRecord(std::vector<std::byte>& bytes, const Record& record);

/// Returns the record at the front of `bytes`, or nothing if it is incomplete, corrupt or not a record.
std::optional<Record> parseRecord(std::span<const std::byte> bytes);

std::string_view asText(std::span<const std::byte> bytes);

}  // namespace flush_vbucket
