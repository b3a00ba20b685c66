// SPDX-License-Identifier: Apache-2.0
/// Refusal of documents beyond the limit, whichever way they arrive. The times that these tests print are a
/// measurement: the tests spend most of them on sending 20 MiB.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "send_buffer/client.h"
#include "send_buffer/compression.h"
#include "send_buffer/limits.h"
#include "send_buffer/sender.h"
#include "send_buffer/server.h"
#include "send_buffer/xattrs.h"

namespace send_buffer {
namespace {

constexpr std::string_view key = "GetSetTest";

enum class JsonSupport { No, Yes };
enum class Compression { No, Yes };

class GetSetTest : public testing::TestWithParam<JsonSupport> {
   protected:
    static void SetUpTestSuite() { server = std::make_unique<Server>(); }
    static void TearDownTestSuite() { server.reset(); }

    void SetUp() override {
        std::vector<Feature> features{Feature::Xattr, Feature::Snappy};
        if (GetParam() == JsonSupport::Yes) {
            features.push_back(Feature::Json);
        }
        ASSERT_EQ(client.hello("GetSetTest", features), features);
    }

    /// Sends a SET of a body, or of a document with its xattrs, and returns the answer.
    Status set(const std::string& body, Compression compression, const std::optional<Xattrs>& xattrs = std::nullopt) {
        const Bytes section = xattrs ? encodeXattrs(*xattrs) : Bytes{};
        std::uint8_t type = xattrs ? datatype::xattr : datatype::raw;
        std::vector<ByteView> values{section, viewOf(body)};
        Bytes compressed;
        if (compression == Compression::Yes) {
            type |= datatype::snappy;
            compressed = xattrs ? compressTogether(section, body) : compress(viewOf(body));
            values = {compressed};
        }
        const auto request = xattrs ? encodeSetWithMeta(key, values, type) : encodeSet(key, values, type);
        return client.exchange(request).status();
    }

    static Bytes compressTogether(ByteView section, const std::string& body) {
        Bytes value;
        value.reserve(section.size() + body.size());
        append(value, section);
        append(value, viewOf(body));
        return compress(value);
    }

    void expectRefused(std::size_t bodySize, Compression compression) {
        const auto refused = client.responseCount(Status::TooBig);
        EXPECT_EQ(set(std::string(bodySize, 'a'), compression), Status::TooBig);
        EXPECT_EQ(client.responseCount(Status::TooBig), refused + 1);
    }

    void refusesLargeSizeWithXattr(Compression compression) {
        const Xattr user{.name = "user", .value = Bytes(200, std::byte{'u'})};
        ASSERT_EQ(set(std::string(1024, 'a'), compression, Xattrs{user}), Status::Success);

        // The user xattr remains, and counts towards the document's size.
        expectRefused(limits.document - 10, compression);

        // A system xattr does not count.
        const Bytes small(100, std::byte{'s'});
        ASSERT_EQ(client.exchange(encodeXattrUpsert(key, "_sync", small)).status(), Status::Success);
        const std::string body(limits.document - 250, 'a');
        EXPECT_EQ(set(body, compression), Status::Success);

        // The part that exceeds the system xattrs' own room counts again.
        const Xattr large{.name = "_sync", .value = Bytes(limits.systemXattrs + 10, std::byte{'s'})};
        ASSERT_EQ(set(body, compression, Xattrs{large}), Status::Success);
        expectRefused(limits.document, compression);
    }

    static constexpr Limits limits{};
    static std::unique_ptr<Server> server;

    Client client{connectToLoopback(server->port()), makeSender()};
};

std::unique_ptr<Server> GetSetTest::server;

TEST_P(GetSetTest, ServerRejectsLargeSize) { expectRefused(limits.document + 1, Compression::No); }

TEST_P(GetSetTest, ServerRejectsLargeSizeCompressed) { expectRefused(limits.document + 1, Compression::Yes); }

TEST_P(GetSetTest, ServerRejectsLargeSizeWithXattr) { refusesLargeSizeWithXattr(Compression::No); }

TEST_P(GetSetTest, ServerRejectsLargeSizeWithXattrCompressed) { refusesLargeSizeWithXattr(Compression::Yes); }

INSTANTIATE_TEST_SUITE_P(TransportProtocols, GetSetTest, testing::Values(JsonSupport::Yes, JsonSupport::No),
                         [](const auto& info) {
                             return std::string{"Mcbp_XattrYes_Json"} +
                                    (info.param == JsonSupport::Yes ? "Yes" : "No") + "_SnappyYes";
                         });

}  // namespace
}  // namespace send_buffer
