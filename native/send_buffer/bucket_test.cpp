// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/bucket.h"

#include <gtest/gtest.h>

#include <string>

#include "send_buffer/byte_literals_for_test.h"

namespace send_buffer {
namespace {

constexpr Limits smallBucket{.document = 1000, .systemXattrs = 100, .xattrsPerDocument = 2, .bucket = 3000};

class BucketTest : public testing::Test {
   protected:
    Status setBody(const std::string& key, std::size_t size) {
        return bucket.setBody(key, viewOf(std::string(size, 'a')), 0, datatype::raw);
    }

    Bucket bucket{smallBucket};
};

TEST_F(BucketTest, KeepsADocument) {
    const Document document{.body = copyOf("body"), .xattrs = {{"a", bytes({1})}}, .flags = 7, .datatype = 1};
    ASSERT_EQ(bucket.set("key", document), Status::Success);

    const auto found = bucket.find("key");
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->body, document.body);
    EXPECT_EQ(found->xattrs, document.xattrs);
    EXPECT_EQ(found->flags, 7U);
    EXPECT_EQ(found->datatype, 1);
}

TEST_F(BucketTest, ANewBodyLeavesTheXattrs) {
    ASSERT_EQ(bucket.set("key", {.body = {}, .xattrs = {{"a", bytes({1})}}}), Status::Success);
    ASSERT_EQ(setBody("key", 10), Status::Success);

    EXPECT_EQ(bucket.find("key")->xattrs, (Xattrs{{"a", bytes({1})}}));
    EXPECT_EQ(bucket.find("key")->body.size(), 10U);
}

TEST_F(BucketTest, AWholeDocumentReplacesTheXattrs) {
    ASSERT_EQ(bucket.set("key", {.body = {}, .xattrs = {{"a", bytes({1})}}}), Status::Success);
    ASSERT_EQ(bucket.set("key", {.body = {}, .xattrs = {{"b", bytes({2})}}}), Status::Success);

    EXPECT_EQ(bucket.find("key")->xattrs, (Xattrs{{"b", bytes({2})}}));
}

TEST_F(BucketTest, ABodyTooManyForTheXattrsThatStayIsRefusedAndChangesNothing) {
    // Its size is 4 + 1 + 1 + 14 + 1 bytes.
    ASSERT_EQ(bucket.set("key", {.body = {}, .xattrs = {{"a", Bytes(13)}}}), Status::Success);

    EXPECT_EQ(setBody("key", 981), Status::TooBig);
    EXPECT_TRUE(bucket.find("key")->body.empty());
    EXPECT_EQ(setBody("key", 980), Status::Success);
}

TEST_F(BucketTest, AnXattrTooManyForTheBodyIsRefusedAndChangesNothing) {
    ASSERT_EQ(setBody("key", 990), Status::Success);

    EXPECT_EQ(bucket.upsertXattr("key", {.name = "a", .value = Bytes(100)}), Status::TooBig);
    EXPECT_TRUE(bucket.find("key")->xattrs.empty());
    EXPECT_EQ(bucket.upsertXattr("key", {.name = "_a", .value = Bytes(50)}), Status::Success);
}

TEST_F(BucketTest, TheNumberOfXattrsIsLimited) {
    ASSERT_EQ(bucket.set("key", {.body = {}, .xattrs = {{"a", {}}, {"b", {}}}}), Status::Success);

    EXPECT_EQ(bucket.upsertXattr("key", {.name = "c", .value = {}}), Status::TooBig);
    EXPECT_EQ(bucket.upsertXattr("key", {.name = "b", .value = bytes({1})}), Status::Success);
}

TEST_F(BucketTest, AnXattrNeedsADocument) {
    EXPECT_EQ(bucket.upsertXattr("key", {.name = "a", .value = {}}), Status::KeyNotFound);
}

TEST_F(BucketTest, AllDocumentsTogetherAreLimited) {
    ASSERT_EQ(setBody("one", 1000), Status::Success);
    ASSERT_EQ(setBody("two", 1000), Status::Success);

    EXPECT_EQ(setBody("three", 1000), Status::OutOfMemory);
    EXPECT_FALSE(bucket.find("three").has_value());
}

TEST_F(BucketTest, ReplacingADocumentFreesItsRoom) {
    for (int round = 0; round < 10; ++round) {
        ASSERT_EQ(setBody("one", 1000), Status::Success);
    }
}

TEST_F(BucketTest, EmptyDocumentsTakeRoomToo) {
    int stored = 0;
    while (stored < 1000 && setBody(std::to_string(stored), 0) == Status::Success) {
        ++stored;
    }

    EXPECT_LT(stored, 1000);
}

}  // namespace
}  // namespace send_buffer
