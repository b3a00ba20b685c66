// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/compression.h"

#include <gtest/gtest.h>

#include <string>

#include "send_buffer/byte_literals_for_test.h"

namespace send_buffer {
namespace {

TEST(CompressionTest, IsUndone) {
    const std::string text = "to be or not to be or not to be";

    const auto result = decompressWithin(1000, compress(viewOf(text)));

    EXPECT_EQ(result.status, Status::Success);
    EXPECT_EQ(textOf(result.plain.view()), text);
}

TEST(CompressionTest, MakesRepetitionSmall) {
    EXPECT_LT(compress(viewOf(std::string(1'000'000, 'a'))).size(), 50'000U);
}

TEST(CompressionTest, ExactlyTheLimitIsAllowed) {
    const Bytes compressed = compress(viewOf(std::string(1000, 'a')));

    EXPECT_EQ(decompressWithin(1000, compressed).status, Status::Success);
    EXPECT_EQ(decompressWithin(999, compressed).status, Status::TooBig);
}

TEST(CompressionTest, ABombIsRefusedBeforeMemoryIsAllocated) {
    // Claims to be 4 GiB.
    const Bytes bomb = bytes({0xff, 0xff, 0xff, 0xff, 0x0f, 0x00, 'a'});

    const auto result = decompressWithin(1000, bomb);

    EXPECT_EQ(result.status, Status::TooBig);
    EXPECT_EQ(result.plain.capacity(), 0U);
}

TEST(CompressionTest, AFalseLengthAllocatesNothing) {
    // Claims to be 900 bytes, but has one.
    const auto result = decompressWithin(1000, bytes({0x84, 0x07, 0x00, 'a'}));

    EXPECT_EQ(result.status, Status::Invalid);
    EXPECT_EQ(result.plain.capacity(), 0U);
}

TEST(CompressionTest, UncompressedBytesAreRefused) {
    EXPECT_EQ(decompressWithin(1000, viewOf("plain text")).status, Status::Invalid);
    EXPECT_EQ(decompressWithin(1000, {}).status, Status::Invalid);
}

}  // namespace
}  // namespace send_buffer
