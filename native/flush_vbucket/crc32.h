/// The checksum that tells a whole record from a torn one: CRC-32 as in IEEE 802.3, reflected polynomial 0xEDB88320.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace flush_vbucket {

std::uint32_t crc32(std::span<const std::byte> bytes);

}  // namespace flush_vbucket
