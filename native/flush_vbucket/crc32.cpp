#include "flush_vbucket/crc32.h"

#include <array>

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

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes) {
    std::uint32_t remainder = ~std::uint32_t{0};
    for (const std::byte byte : bytes) {
        remainder = (remainder >> 8U) ^ table[(remainder ^ std::to_integer<std::uint32_t>(byte)) & byteMask];
    }
    return ~remainder;
}

}  // namespace flush_vbucket
