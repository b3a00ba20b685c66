// SPDX-License-Identifier: Apache-2.0
/// The memcached binary protocol, as far as this workload uses it.
///
/// A packet is a header of 24 bytes, then extras, key and value; integers are big endian.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>

#include "send_buffer/bytes.h"

namespace send_buffer {

enum class Magic : std::uint8_t { Request = 0x80, Response = 0x81 };

enum class Opcode : std::uint8_t {
    Get = 0x00,
    Set = 0x01,
    Stat = 0x10,
    Hello = 0x1f,
    /// A SET whose value may begin with xattrs, which replace those of the document.
    SetWithMeta = 0xa2,
    SubdocDictUpsert = 0xc8,
};

enum class Status : std::uint16_t {
    Success = 0x00,
    KeyNotFound = 0x01,
    /// E2BIG.
    TooBig = 0x03,
    /// EINVAL.
    Invalid = 0x04,
    UnknownCommand = 0x81,
    OutOfMemory = 0x82,
};

/// A feature that a client requests with HELLO.
enum class Feature : std::uint16_t { Xattr = 0x06, Snappy = 0x0a, Json = 0x0b };

/// Bits for the encoding of a value.
namespace datatype {
constexpr std::uint8_t raw = 0x00;
constexpr std::uint8_t json = 0x01;
constexpr std::uint8_t snappy = 0x02;
constexpr std::uint8_t xattr = 0x04;
}  // namespace datatype

/// The flag of a sub-document command whose path is the name of an xattr.
constexpr std::uint8_t subdocXattrPath = 0x04;

constexpr std::size_t maxKeyLength = 250;

struct Header {
    static constexpr std::size_t size = 24;

    std::uint8_t magic = 0;
    std::uint8_t opcode = 0;
    std::uint16_t keyLength = 0;
    std::uint8_t extrasLength = 0;
    std::uint8_t datatype = datatype::raw;
    /// A request's vbucket, or a response's status.
    std::uint16_t vbucketOrStatus = 0;
    /// The length of extras, key and value together.
    std::uint32_t bodyLength = 0;
    std::uint32_t opaque = 0;
    std::uint64_t cas = 0;

    [[nodiscard]] Status status() const { return static_cast<Status>(vbucketOrStatus); }
    bool operator==(const Header&) const = default;
};

void appendHeader(Bytes& to, const Header& header);
Header decodeHeader(std::span<const std::byte, Header::size> bytes);

/// A whole packet, whose parts point into the buffer in which it was received.
struct Packet {
    Header header;
    ByteView extras;
    ByteView key;
    ByteView value;
};

/// Splits a body of `header.bodyLength` bytes into its parts; returns nothing if they are longer than the whole.
std::optional<Packet> splitBody(const Header& header, ByteView body);

template <std::unsigned_integral Integer>
void appendInteger(Bytes& to, Integer value) {
    for (std::size_t byte = sizeof(Integer); byte-- > 0;) {
        to.push_back(static_cast<std::byte>(value >> (8 * byte)));
    }
}

/// Reads a number from the first bytes; there must be enough of them.
template <std::unsigned_integral Integer>
Integer readInteger(ByteView from) {
    Integer value = 0;
    for (const std::byte byte : from.first<sizeof(Integer)>()) {
        value = static_cast<Integer>((std::uint64_t{value} << 8U) | std::to_integer<std::uint64_t>(byte));
    }
    return value;
}

}  // namespace send_buffer
