// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/request.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "send_buffer/byte_literals_for_test.h"

namespace send_buffer {
namespace {

Bytes joined(const EncodedRequest& request) {
    Bytes all = request.head;
    for (const ByteView value : request.values) {
        append(all, value);
    }
    return all;
}

TEST(RequestTest, ASetIsHeaderFlagsExpiryKeyAndValue) {
    const Bytes value = bytes({0xaa, 0xbb});

    const auto request = encodeSet("key", {value}, datatype::snappy);

    EXPECT_EQ(joined(request), bytes({0x80, 0x01, 0, 3, 8, 2, 0, 0, 0, 0, 0, 13, 0, 0,   0,   0,   0,    0,   0,
                                      0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0, 'k', 'e', 'y', 0xaa, 0xbb}));
    EXPECT_EQ(encodedSize(request), joined(request).size());
}

TEST(RequestTest, AValueStaysWhereItIs) {
    const std::string value(100, 'a');

    const auto request = encodeSet("key", {viewOf(value)}, datatype::raw);

    ASSERT_EQ(request.values.size(), 1U);
    EXPECT_EQ(request.values[0].data(), viewOf(value).data());
    EXPECT_EQ(request.head.size(), Header::size + 8 + 3);
}

TEST(RequestTest, AValueMayHaveSeveralChunks) {
    const Bytes first = bytes({1});
    const Bytes second = bytes({2, 3});

    const auto request = encodeSetWithMeta("k", {first, second}, datatype::xattr);

    const auto header = decodeHeader(ByteView{request.head}.first<Header::size>());
    EXPECT_EQ(header.opcode, 0xa2);
    EXPECT_EQ(header.extrasLength, 24);
    EXPECT_EQ(header.bodyLength, 24U + 1U + 3U);
}

TEST(RequestTest, HelloListsFeaturesAfterTheAgentsName) {
    constexpr std::array features{Feature::Xattr, Feature::Snappy};

    EXPECT_EQ(joined(encodeHello("me", features)), bytes({0x80, 0x1f, 0, 2, 0, 0, 0, 0, 0, 0,   0,   6, 0, 0, 0,
                                                          0,    0,    0, 0, 0, 0, 0, 0, 0, 'm', 'e', 0, 6, 0, 0x0a}));
}

TEST(RequestTest, AnXattrsNameIsThePathOfASubDocument) {
    const Bytes value = bytes({'1'});

    EXPECT_EQ(joined(encodeXattrUpsert("k", "_s", value)),
              bytes({0x80, 0xc8, 0, 1, 3, 0, 0, 0, 0, 0, 0, 7,   0,   0,   0,  0,
                     0,    0,    0, 0, 0, 0, 0, 0, 0, 2, 4, 'k', '_', 's', '1'}));
}

TEST(RequestTest, GetAndStatHaveNothingButAKey) {
    EXPECT_EQ(joined(encodeGet("k")),
              bytes({0x80, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'k'}));
    EXPECT_EQ(joined(encodeStat("g")),
              bytes({0x80, 0x10, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'g'}));
}

}  // namespace
}  // namespace send_buffer
