// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/protocol.h"

#include <gtest/gtest.h>

#include "send_buffer/byte_literals_for_test.h"

namespace send_buffer {
namespace {

const Header everyField{.magic = 0x80,
                        .opcode = 0xa2,
                        .keyLength = 0x0102,
                        .extrasLength = 0x18,
                        .datatype = 0x07,
                        .vbucketOrStatus = 0x0304,
                        .bodyLength = 0x05060708,
                        .opaque = 0x090a0b0c,
                        .cas = 0x1112131415161718};

const Bytes everyFieldEncoded = bytes({0x80, 0xa2, 0x01, 0x02, 0x18, 0x07, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
                                       0x09, 0x0a, 0x0b, 0x0c, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18});

TEST(ProtocolTest, AHeaderHas24BytesBigEndian) {
    Bytes encoded;
    appendHeader(encoded, everyField);

    EXPECT_EQ(encoded, everyFieldEncoded);
}

TEST(ProtocolTest, AHeaderIsReadBack) {
    EXPECT_EQ(decodeHeader(ByteView{everyFieldEncoded}.first<Header::size>()), everyField);
}

TEST(ProtocolTest, ABodyIsExtrasKeyAndValue) {
    const Bytes body = bytes({1, 2, 3, 4, 5, 6});

    const auto packet = splitBody({.keyLength = 3, .extrasLength = 1, .bodyLength = 6}, body);

    ASSERT_TRUE(packet.has_value());
    EXPECT_EQ(copyOf(packet->extras), bytes({1}));
    EXPECT_EQ(copyOf(packet->key), bytes({2, 3, 4}));
    EXPECT_EQ(copyOf(packet->value), bytes({5, 6}));
}

TEST(ProtocolTest, PartsLongerThanTheBodyAreNoPacket) {
    const Bytes body(6);

    EXPECT_FALSE(splitBody({.keyLength = 6, .extrasLength = 1, .bodyLength = 6}, body).has_value());
    EXPECT_FALSE(splitBody({.keyLength = 0xffff, .extrasLength = 0xff, .bodyLength = 6}, body).has_value());
}

}  // namespace
}  // namespace send_buffer
