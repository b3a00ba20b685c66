// SPDX-License-Identifier: Apache-2.0
/// Integers as little-endian bytes, the same on every machine.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace flush_vbucket {

/// Writes all bytes of `number` to the front of `bytes`; returns the rest.
template <std::unsigned_integral Number>
std::span<std::byte> putLittleEndian(std::span<std::byte> bytes, Number number) {
    for (std::size_t index = 0; index < sizeof(Number); ++index) {
        bytes[index] = static_cast<std::byte>(static_cast<std::uint64_t>(number) >> (8 * index));
    }
    return bytes.subspan(sizeof(Number));
}

/// Reads a number from the front of `bytes` and removes it from there.
template <std::unsigned_integral Number>
Number takeLittleEndian(std::span<const std::byte>& bytes) {
    std::uint64_t number = 0;
    for (std::size_t index = 0; index < sizeof(Number); ++index) {
        number |= std::to_integer<std::uint64_t>(bytes[index]) << (8 * index);
    }
    bytes = bytes.subspan(sizeof(Number));
    return static_cast<Number>(number);
}

}  // namespace flush_vbucket
