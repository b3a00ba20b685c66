// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/document.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "flush_vbucket/byte_order.h"

namespace flush_vbucket {
namespace {

TEST(DocumentTest, MetadataSurvivesEncoding) {
    Item item{"key", Value{}};
    item.cas = 0x0102030405060708;
    item.revision = 9;
    item.datatype = Datatype::Json;
    const auto meta = encodeMeta(item);
    EXPECT_EQ(decodeDocument(meta, "value"),
              (StoredDocument{.value = "value", .cas = 0x0102030405060708, .revision = 9, .datatype = Datatype::Json}));
}

TEST(DocumentTest, MetadataOfAnotherVersionIsRefused) {
    auto meta = encodeMeta(Item{"key", Value{}});
    meta[0] = std::byte{2};
    EXPECT_THROW(decodeDocument(meta, ""), std::invalid_argument);
}

TEST(DocumentTest, MetadataOfAnotherLengthIsRefused) {
    const auto meta = encodeMeta(Item{"key", Value{}});
    EXPECT_THROW(decodeDocument(std::span{meta}.first(10), ""), std::invalid_argument);
}

TEST(ByteOrderTest, TheLeastByteComesFirst) {
    std::array<std::byte, 4> bytes{};
    const auto rest = putLittleEndian(std::span<std::byte>{bytes}, std::uint16_t{0x0102});
    EXPECT_EQ(bytes[0], std::byte{2});
    EXPECT_EQ(bytes[1], std::byte{1});
    EXPECT_EQ(rest.size(), 2U);
}

TEST(ByteOrderTest, ANumberComesBackAsItWasPut) {
    std::array<std::byte, 8> bytes{};
    putLittleEndian(std::span<std::byte>{bytes}, std::uint64_t{0xF0E0D0C0B0A09080});
    std::span<const std::byte> rest{bytes};
    EXPECT_EQ(takeLittleEndian<std::uint64_t>(rest), 0xF0E0D0C0B0A09080);
    EXPECT_TRUE(rest.empty());
}

}  // namespace
}  // namespace flush_vbucket
