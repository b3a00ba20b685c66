// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/session.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>

#include "send_buffer/byte_literals_for_test.h"
#include "send_buffer/compression.h"
#include "send_buffer/request.h"

namespace send_buffer {
namespace {

constexpr Limits smallSession{.document = 1000, .systemXattrs = 100, .packet = 2000, .bucket = 100'000};

class SessionTest : public testing::Test {
   protected:
    void SetUp() override {
        constexpr std::array features{Feature::Xattr, Feature::Snappy, Feature::Json};
        ask(encodeHello("test", features));
    }

    std::vector<Response> askForAll(const EncodedRequest& request) {
        Bytes packet = request.head;
        for (const ByteView value : request.values) {
            append(packet, value);
        }
        const auto header = decodeHeader(ByteView{packet}.first<Header::size>());
        return session.answer(*splitBody(header, ByteView{packet}.subspan(Header::size)));
    }

    Response ask(const EncodedRequest& request) { return askForAll(request).back(); }

    Status set(ByteView value, std::uint8_t type) { return ask(encodeSet("key", {value}, type)).status; }

    Bucket bucket{smallSession};
    ResponseCounts counts;
    Session session{smallSession, bucket, counts};
    const std::string body = std::string(100, 'a');
};

TEST_F(SessionTest, GrantsTheFeaturesItKnowsOnce) {
    constexpr std::array asked{Feature::Snappy, static_cast<Feature>(0x1234), Feature::Xattr, Feature::Snappy};

    EXPECT_EQ(ask(encodeHello("me", asked)).value, bytes({0, 0x0a, 0, 0x06}));
}

TEST_F(SessionTest, HalfAFeatureIsInvalid) {
    auto request = encodeHello("me", std::array{Feature::Snappy});
    request.head.pop_back();
    request.head[11] = std::byte{3};

    EXPECT_EQ(ask(request).status, Status::Invalid);
}

TEST_F(SessionTest, ADocumentIsReadBackWithItsFlagsAndDatatype) {
    auto request = encodeSet("key", {viewOf(body)}, datatype::json);
    request.head[Header::size + 3] = std::byte{9};
    ASSERT_EQ(ask(request).status, Status::Success);

    const Response response = ask(encodeGet("key"));
    EXPECT_EQ(response.status, Status::Success);
    EXPECT_EQ(textOf(response.value), body);
    EXPECT_EQ(response.extras, bytes({0, 0, 0, 9}));
    EXPECT_EQ(response.datatype, datatype::json);
}

TEST_F(SessionTest, AMissingDocumentIsNotFound) {
    EXPECT_EQ(ask(encodeGet("key")).status, Status::KeyNotFound);
    EXPECT_EQ(ask(encodeXattrUpsert("key", "a", viewOf("1"))).status, Status::KeyNotFound);
}

TEST_F(SessionTest, ADatatypeMustHaveBeenNegotiated) {
    ask(encodeHello("me", {}));

    for (const auto type : {datatype::json, datatype::snappy, datatype::xattr, std::uint8_t{0x80}}) {
        EXPECT_EQ(set(viewOf(body), type), Status::Invalid) << static_cast<int>(type);
    }
    EXPECT_EQ(set(viewOf(body), datatype::raw), Status::Success);
}

TEST_F(SessionTest, AnXattrMustHaveBeenNegotiated) {
    ASSERT_EQ(set(viewOf(body), datatype::raw), Status::Success);
    ask(encodeHello("me", {}));

    EXPECT_EQ(ask(encodeXattrUpsert("key", "a", viewOf("1"))).status, Status::Invalid);
}

TEST_F(SessionTest, ACompressedValueIsStoredAsItWas) {
    ASSERT_EQ(set(compress(viewOf(body)), datatype::snappy), Status::Success);

    EXPECT_EQ(textOf(ask(encodeGet("key")).value), body);
}

TEST_F(SessionTest, ACompressedValueIsMeasuredAsItWas) {
    EXPECT_EQ(set(compress(viewOf(std::string(1000, 'a'))), datatype::snappy), Status::Success);
    EXPECT_EQ(set(compress(viewOf(std::string(1001, 'a'))), datatype::snappy), Status::TooBig);
}

TEST_F(SessionTest, ABombIsTooBig) {
    EXPECT_EQ(set(bytes({0xff, 0xff, 0xff, 0xff, 0x0f, 0x00, 'a'}), datatype::snappy), Status::TooBig);
}

TEST_F(SessionTest, AnUncompressedValueMarkedAsCompressedIsInvalid) {
    EXPECT_EQ(set(viewOf("plain text"), datatype::snappy), Status::Invalid);
}

TEST_F(SessionTest, APlainSetCannotSetXattrs) {
    EXPECT_EQ(set(encodeXattrs({{"a", bytes({1})}}), datatype::xattr), Status::Invalid);
}

TEST_F(SessionTest, ASetWithMetaSetsXattrsAndBody) {
    const Bytes section = encodeXattrs({{"a", bytes({1})}});
    ASSERT_EQ(ask(encodeSetWithMeta("key", {section, viewOf(body)}, datatype::xattr)).status, Status::Success);

    EXPECT_EQ(textOf(ask(encodeGet("key")).value), body);
    EXPECT_EQ(bucket.find("key")->xattrs, (Xattrs{{"a", bytes({1})}}));
}

TEST_F(SessionTest, ASetWithMetaMayBeCompressedAsAWhole) {
    Bytes value = encodeXattrs({{"a", bytes({1})}});
    append(value, viewOf(body));
    const Bytes compressed = compress(value);
    const std::uint8_t type = datatype::xattr | datatype::snappy;
    ASSERT_EQ(ask(encodeSetWithMeta("key", {compressed}, type)).status, Status::Success);

    EXPECT_EQ(textOf(ask(encodeGet("key")).value), body);
}

TEST_F(SessionTest, ASetWithMetaWithAMalformedSectionIsInvalid) {
    const Bytes section = bytes({0xff, 0xff, 0xff, 0xff});

    EXPECT_EQ(ask(encodeSetWithMeta("key", {section}, datatype::xattr)).status, Status::Invalid);
}

TEST_F(SessionTest, ASubDocumentUpsertSetsAnXattr) {
    ASSERT_EQ(set(viewOf(body), datatype::raw), Status::Success);
    ASSERT_EQ(ask(encodeXattrUpsert("key", "_sync", viewOf("1"))).status, Status::Success);

    EXPECT_EQ(bucket.find("key")->xattrs, (Xattrs{{"_sync", copyOf("1")}}));
}

TEST_F(SessionTest, APathBeyondTheValueIsInvalid) {
    ASSERT_EQ(set(viewOf(body), datatype::raw), Status::Success);
    auto request = encodeXattrUpsert("key", "name", viewOf("1"));
    request.head[Header::size] = std::byte{0xff};

    EXPECT_EQ(ask(request).status, Status::Invalid);
}

TEST_F(SessionTest, ANameWithAZeroIsInvalid) {
    ASSERT_EQ(set(viewOf(body), datatype::raw), Status::Success);

    EXPECT_EQ(ask(encodeXattrUpsert("key", std::string_view{"a\0b", 3}, viewOf("1"))).status, Status::Invalid);
}

TEST_F(SessionTest, KeysHaveOneTo250Characters) {
    EXPECT_EQ(ask(encodeSet("", {}, datatype::raw)).status, Status::Invalid);
    EXPECT_EQ(ask(encodeSet(std::string(250, 'k'), {}, datatype::raw)).status, Status::Success);
    EXPECT_EQ(ask(encodeSet(std::string(251, 'k'), {}, datatype::raw)).status, Status::Invalid);
}

TEST_F(SessionTest, AnUnknownOpcodeIsAnswered) {
    auto request = encodeGet("key");
    request.head[1] = std::byte{0x77};

    EXPECT_EQ(ask(request).status, Status::UnknownCommand);
}

TEST_F(SessionTest, StatReportsHowOftenEachStatusWasAnswered) {
    set(viewOf(std::string(1001, 'a')), datatype::raw);
    const auto responses = askForAll(encodeStat("responses"));

    ASSERT_EQ(responses.size(), 7U);
    EXPECT_EQ(textOf(responses[0].key), "0");
    EXPECT_EQ(textOf(responses[0].value), "1") << "the HELLO; not yet this STAT";
    EXPECT_EQ(textOf(responses[2].key), "3");
    EXPECT_EQ(textOf(responses[2].value), "1");
    EXPECT_TRUE(responses.back().key.empty());
    EXPECT_EQ(counts.of(Status::Success), 2U) << "one for the whole list";
}

TEST_F(SessionTest, OtherStatisticsAreInvalid) { EXPECT_EQ(ask(encodeStat("other")).status, Status::Invalid); }

TEST_F(SessionTest, RandomPacketsAreAllAnswered) {
    constexpr int packets = 20'000;
    constexpr std::array<int, 7> opcodes{0x00, 0x01, 0x10, 0x1f, 0xa2, 0xc8, 0x55};
    constexpr std::array<std::uint8_t, 5> extrasLengths{0, 3, 8, 24, 7};
    // NOLINTNEXTLINE(cert-msc32-c,cert-msc51-cpp): the same packets in each run
    std::mt19937 random{42};
    const auto below = [&random](unsigned bound) { return static_cast<std::size_t>(random() % bound); };
    for (int packet = 0; packet < packets; ++packet) {
        Bytes body(below(64));
        for (std::byte& byte : body) {
            byte = static_cast<std::byte>(below(4) == 0 ? below(256) : below(5));
        }
        const Header header{.opcode = static_cast<std::uint8_t>(opcodes.at(below(opcodes.size()))),
                            .keyLength = static_cast<std::uint16_t>(below(4)),
                            .extrasLength = extrasLengths.at(below(extrasLengths.size())),
                            .datatype = static_cast<std::uint8_t>(below(9)),
                            .bodyLength = static_cast<std::uint32_t>(body.size())};
        if (const auto split = splitBody(header, body)) {
            ASSERT_FALSE(session.answer(*split).empty());
        }
    }

    EXPECT_GT(counts.of(Status::Success), 0U);
    EXPECT_GT(counts.of(Status::Invalid), 0U);
}

}  // namespace
}  // namespace send_buffer
