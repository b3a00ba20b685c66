// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/record_format.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "flush_vbucket/kv_store.h"

namespace flush_vbucket {
namespace {

class RecordFormatTest : public testing::Test {
   protected:
    RecordFormatTest() {
        appendRecord(bytes, {.kind = RecordKind::Delete,
                             .seqno = 7,
                             .meta = meta,
                             .key = "key",
                             .value = std::as_bytes(std::span{std::string_view{"value"}})});
    }

    std::array<std::byte, 2> meta{std::byte{1}, std::byte{2}};
    std::vector<std::byte> bytes;
};

TEST_F(RecordFormatTest, ARecordComesBackWhole) {
    const auto record = parseRecord(bytes);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->kind, RecordKind::Delete);
    EXPECT_EQ(record->seqno, 7U);
    EXPECT_EQ(asText(record->meta), (std::string{"\1\2"}));
    EXPECT_EQ(record->key, "key");
    EXPECT_EQ(asText(record->value), "value");
    EXPECT_EQ(record->size, bytes.size());
}

TEST_F(RecordFormatTest, BytesAfterARecordAreIgnored) {
    const std::size_t size = bytes.size();
    bytes.push_back(std::byte{0xFF});
    EXPECT_EQ(parseRecord(bytes)->size, size);
}

TEST_F(RecordFormatTest, ARecordCutAnywhereIsNone) {
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        EXPECT_FALSE(parseRecord(std::span{bytes}.first(length))) << length;
    }
}

TEST_F(RecordFormatTest, ARecordWithAnyByteChangedIsNone) {
    for (auto& byte : bytes) {
        byte ^= std::byte{1};
        EXPECT_FALSE(parseRecord(bytes)) << &byte - bytes.data();
        byte ^= std::byte{1};
    }
}

TEST_F(RecordFormatTest, ZeroesAreNoRecord) { EXPECT_FALSE(parseRecord(std::vector<std::byte>(64))); }

TEST_F(RecordFormatTest, AKeyTooLongForItsLengthIsRefused) {
    const std::string key(70'000, 'k');
    EXPECT_THROW(appendRecord(bytes, {.key = key}), StoreError);
}

std::uint32_t crcOf(std::string_view text) { return crc32(std::as_bytes(std::span{text})); }

TEST(Crc32Test, AgreesWithThePublishedCheckValue) { EXPECT_EQ(crcOf("123456789"), 0xCBF43926U); }

TEST(Crc32Test, OfNothingIsZero) { EXPECT_EQ(crcOf(""), 0U); }

TEST(Crc32Test, SeesASingleFlippedBit) { EXPECT_NE(crcOf("a record"), crcOf("a recorD")); }

}  // namespace
}  // namespace flush_vbucket
