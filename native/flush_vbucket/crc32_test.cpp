#include "flush_vbucket/crc32.h"

#include <gtest/gtest.h>

#include <string_view>

namespace flush_vbucket {
namespace {

std::uint32_t crcOf(std::string_view text) { return crc32(std::as_bytes(std::span{text})); }

TEST(Crc32Test, AgreesWithThePublishedCheckValue) { EXPECT_EQ(crcOf("123456789"), 0xCBF43926U); }

TEST(Crc32Test, OfNothingIsZero) { EXPECT_EQ(crcOf(""), 0U); }

TEST(Crc32Test, SeesASingleFlippedBit) { EXPECT_NE(crcOf("a record"), crcOf("a recorD")); }

}  // namespace
}  // namespace flush_vbucket
