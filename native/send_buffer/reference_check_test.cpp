// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/reference_check.h"

#include <gtest/gtest.h>

#include "send_buffer/byte_literals_for_test.h"
#include "send_buffer/server.h"

namespace send_buffer {
namespace {

class ReferenceCheckTest : public testing::Test {
   protected:
    [[nodiscard]] benchgate::Mismatch compare(const Bytes& received, Status answered = Status::Success) const {
        return compareWithReference(request, received, Status::Success, answered);
    }

    const Bytes value = copyOf("value");
    const EncodedRequest request = encodeSet("key", {value}, datatype::raw);
};

TEST_F(ReferenceCheckTest, ThePacketAsItWasMeantIsRight) { EXPECT_EQ(compare(referencePacket(request)), std::nullopt); }

TEST_F(ReferenceCheckTest, AByteTooFewIsWrong) {
    Bytes received = referencePacket(request);
    received.pop_back();

    EXPECT_NE(compare(received), std::nullopt);
}

TEST_F(ReferenceCheckTest, AChangedByteIsWrong) {
    Bytes received = referencePacket(request);
    received.back() = std::byte{'x'};

    EXPECT_NE(compare(received), std::nullopt);
}

TEST_F(ReferenceCheckTest, AnotherStatusIsWrong) {
    EXPECT_EQ(compare(referencePacket(request), Status::TooBig), "the server answered with status 3 instead of 0");
}

TEST_F(ReferenceCheckTest, TheSelectedSenderIsRightOverBothTransports) {
    EXPECT_EQ(checkSets<Loopback>(1), std::nullopt);
    EXPECT_EQ(checkSets<SocketPair>(1), std::nullopt);
}

}  // namespace
}  // namespace send_buffer
