// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/xattrs.h"

#include <gtest/gtest.h>

#include "send_buffer/byte_literals_for_test.h"

namespace send_buffer {
namespace {

constexpr std::size_t most = 3;
constexpr Limits smallDocument{.document = 1000, .systemXattrs = 100};

/// Returns an xattr that has `size` bytes in a section.
Xattr xattrOfSize(const std::string& name, std::size_t size) {
    return {.name = name, .value = Bytes(size - 4 - name.size() - 2, std::byte{'x'})};
}

TEST(XattrsTest, ASectionHasItsLengthThenLengthNameAndValueOfEach) {
    EXPECT_EQ(encodeXattrs({{.name = "a", .value = bytes({'1'})}, {.name = "_b", .value = {}}}),
              bytes({0, 0, 0, 16, 0, 0, 0, 4, 'a', 0, '1', 0, 0, 0, 0, 4, '_', 'b', 0, 0}));
}

TEST(XattrsTest, ASectionIsReadBackAndTheRestIsTheBody) {
    const Xattrs xattrs{{.name = "a", .value = bytes({'1'})}, {.name = "_b", .value = {}}};
    Bytes value = encodeXattrs(xattrs);
    append(value, viewOf("body"));

    const auto split = splitXattrs(value, most);

    ASSERT_TRUE(split.has_value());
    EXPECT_EQ(split->xattrs, xattrs);
    EXPECT_EQ(textOf(split->body), "body");
}

TEST(XattrsTest, AnEmptySectionIsNoXattrs) {
    const auto split = splitXattrs(bytes({0, 0, 0, 0, 'b'}), most);

    ASSERT_TRUE(split.has_value());
    EXPECT_TRUE(split->xattrs.empty());
    EXPECT_EQ(split->body.size(), 1U);
}

class MalformedXattrsTest : public testing::TestWithParam<Bytes> {};

TEST_P(MalformedXattrsTest, AreRefused) { EXPECT_FALSE(splitXattrs(GetParam(), most).has_value()); }

INSTANTIATE_TEST_SUITE_P(Sections, MalformedXattrsTest,
                         testing::Values(bytes({}),                                         // no length
                                         bytes({0, 0, 0}),                                  // half a length
                                         bytes({0, 0, 0, 1}),                               // nothing after it
                                         bytes({0xff, 0xff, 0xff, 0xff, 0}),                // much too long
                                         bytes({0, 0, 0, 2, 0, 0}),                         // half a pair's length
                                         bytes({0, 0, 0, 5, 0, 0, 0, 2, 'a'}),              // pair beyond the section
                                         bytes({0, 0, 0, 5, 0xff, 0xff, 0xff, 0xff, 'a'}),  // the same, much
                                         bytes({0, 0, 0, 4, 0, 0, 0, 0}),                   // empty pair
                                         bytes({0, 0, 0, 6, 0, 0, 0, 2, 0, 0}),             // no name
                                         bytes({0, 0, 0, 6, 0, 0, 0, 2, 'a', 'b'}),         // no zero
                                         bytes({0, 0, 0, 6, 0, 0, 0, 2, 'a', 0}),           // one zero for both
                                         bytes({0, 0, 0, 7, 0, 0, 0, 3, 'a', 0, '1'})));    // no zero at the end

TEST(XattrsTest, TwoOfOneNameAreRefused) {
    const Xattr twin{.name = "a", .value = {}};

    EXPECT_FALSE(splitXattrs(encodeXattrs({twin, twin}), most).has_value());
}

TEST(XattrsTest, MoreThanAllowedAreRefused) {
    const Xattrs four{{"a", {}}, {"b", {}}, {"c", {}}, {"d", {}}};

    EXPECT_TRUE(splitXattrs(encodeXattrs(four), 4).has_value());
    EXPECT_FALSE(splitXattrs(encodeXattrs(four), most).has_value());
}

TEST(XattrsTest, UpsertAddsOrChanges) {
    Xattrs xattrs;
    upsert(xattrs, {.name = "a", .value = bytes({1})});
    upsert(xattrs, {.name = "b", .value = bytes({2})});
    upsert(xattrs, {.name = "a", .value = bytes({3})});

    EXPECT_EQ(xattrs, (Xattrs{{"a", bytes({3})}, {"b", bytes({2})}}));
}

TEST(XattrsTest, ABodyAloneMayBeAsLargeAsADocument) {
    EXPECT_TRUE(isWithin(smallDocument, 1000, {}));
    EXPECT_FALSE(isWithin(smallDocument, 1001, {}));
}

TEST(XattrsTest, UserXattrsCountTowardsTheDocument) {
    const Xattrs user{xattrOfSize("user", 30)};

    EXPECT_EQ(encodedSize(user[0]), 30U);
    EXPECT_TRUE(isWithin(smallDocument, 970, user));
    EXPECT_FALSE(isWithin(smallDocument, 971, user));
}

TEST(XattrsTest, SystemXattrsHaveRoomOfTheirOwn) {
    EXPECT_TRUE(isWithin(smallDocument, 1000, {xattrOfSize("_sync", 100)}));
}

TEST(XattrsTest, TheExcessOfSystemXattrsCountsTowardsTheDocument) {
    const Xattrs system{xattrOfSize("_sync", 60), xattrOfSize("_other", 50)};

    EXPECT_TRUE(isWithin(smallDocument, 990, system));
    EXPECT_FALSE(isWithin(smallDocument, 991, system));
}

TEST(XattrsTest, UserXattrsGetNoneOfTheSystemXattrsRoom) {
    EXPECT_FALSE(isWithin(smallDocument, 1000, {xattrOfSize("u", 10)}));
}

}  // namespace
}  // namespace send_buffer
