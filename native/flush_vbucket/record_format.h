// SPDX-License-Identifier: Apache-2.0
/// How the append-only file is laid out: records that each prove by a checksum that they are whole.
///
/// A record is crc32 (4 bytes, of all that follows), kind (1), length of the metadata (1), of the key (2) and of the
/// value (4), seqno (8); then metadata, key and value. Numbers are little-endian. A transaction is its documents'
/// records and a commit record, whose value is the vbucket's state; without that it never happened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace flush_vbucket {

enum class RecordKind : std::uint8_t { Set = 1, Delete = 2, Commit = 3 };

/// Views into somebody else's bytes.
struct Record {
    RecordKind kind = RecordKind::Set;
    std::uint64_t seqno = 0;
    std::span<const std::byte> meta = {};
    std::string_view key = {};
    std::span<const std::byte> value = {};
    /// Of the whole record in the file; set by parseRecord().
    std::size_t size = 0;
};

/// CRC-32 as in IEEE 802.3, reflected polynomial 0xEDB88320.
std::uint32_t crc32(std::span<const std::byte> bytes);

/// Bytes of the record in a file.
std::size_t recordSize(const Record& record);

/// Writes the record behind `bytes`. Throws StoreError if it has more than the lengths can say.
void appendRecord(std::vector<std::byte>& bytes, const Record& record);

/// The record at the front of `bytes`, or nothing if that is torn, corrupt or none.
std::optional<Record> parseRecord(std::span<const std::byte> bytes);

std::string_view asText(std::span<const std::byte> bytes);

}  // namespace flush_vbucket
