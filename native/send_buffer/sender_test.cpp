// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/sender.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <deque>
#include <string>
#include <system_error>
#include <thread>

#include "send_buffer/byte_literals_for_test.h"
#include "send_buffer/selected_sender.h"
#include "send_buffer/socket.h"

namespace send_buffer {
namespace {

/// Header, extras and a key of four characters.
constexpr std::size_t headSize = 36;

/// A wire that takes a limited number of bytes per call, and fails in the calls that are planned to fail.
class NarrowWire {
   public:
    explicit NarrowWire(std::size_t most, std::deque<int> errors = {}) : most_{most}, errors_{std::move(errors)} {}

    Wire wire() {
        return {.send = [this](ByteView bytes) { return take({bytes}); },
                .sendMessage =
                    [this](std::span<iovec> chunks) {
                        std::vector<ByteView> views;
                        for (const iovec& chunk : chunks) {
                            views.emplace_back(static_cast<const std::byte*>(chunk.iov_base), chunk.iov_len);
                        }
                        longestList = std::max(longestList, views.size());
                        return take(views);
                    },
                .waitUntilWritable = [this] { ++waits; }};
    }

    Bytes received;
    int calls = 0;
    int waits = 0;
    std::size_t longestList = 0;

   private:
    ssize_t take(const std::vector<ByteView>& chunks) {
        ++calls;
        const int error = errors_.empty() ? 0 : errors_.front();
        if (!errors_.empty()) {
            errors_.pop_front();
        }
        if (error != 0) {
            errno = error;
            return -1;
        }
        const std::size_t before = received.size();
        for (const ByteView chunk : chunks) {
            append(received, chunk.first(std::min(chunk.size(), before + most_ - received.size())));
        }
        return static_cast<ssize_t>(received.size() - before);
    }

    std::size_t most_;
    std::deque<int> errors_;
};

std::string countingText(std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) {
        text[i] = static_cast<char>('!' + i % 89);
    }
    return text;
}

template <typename Variant>
class SenderTest : public testing::Test {
   protected:
    const std::string first = countingText(100);
    const std::string second = countingText(7);
    const EncodedRequest request = encodeSet("4key", {viewOf(first), viewOf(second)}, datatype::raw);
    const Bytes expected = [this] {
        Bytes all = request.head;
        append(all, viewOf(first));
        append(all, viewOf(second));
        return all;
    }();
    Variant sender;
};

using Variants = testing::Types<SendPerChunk, CopyAndSend, SendMessage>;
TYPED_TEST_SUITE(SenderTest, Variants);

TYPED_TEST(SenderTest, SendsEveryByteInItsOrderHoweverFewAreTakenAtOnce) {
    ASSERT_EQ(this->request.head.size(), headSize);
    for (const std::size_t most : {std::size_t{1}, headSize - 1, headSize, headSize + 1, std::size_t{1} << 20U}) {
        NarrowWire narrow{most};
        this->sender.send(narrow.wire(), this->request);
        EXPECT_EQ(narrow.received, this->expected) << "at most " << most << " bytes a call";
    }
}

TYPED_TEST(SenderTest, LeavesTheRequestAsItWas) {
    NarrowWire narrow{headSize + 1};
    this->sender.send(narrow.wire(), this->request);
    this->sender.send(narrow.wire(), this->request);

    Bytes twice = this->expected;
    append(twice, this->expected);
    EXPECT_EQ(narrow.received, twice);
}

TYPED_TEST(SenderTest, AnEmptyValueIsNothingToSend) {
    NarrowWire narrow{1000};
    const auto request = encodeSet("4key", {ByteView{}, viewOf(this->first), ByteView{}}, datatype::raw);
    this->sender.send(narrow.wire(), request);

    EXPECT_EQ(narrow.received.size(), headSize + this->first.size());
}

TYPED_TEST(SenderTest, AnInterruptedCallIsMadeAgain) {
    NarrowWire narrow{headSize, {EINTR, 0, EINTR, EINTR}};
    this->sender.send(narrow.wire(), this->request);

    EXPECT_EQ(narrow.received, this->expected);
    EXPECT_EQ(narrow.waits, 0);
}

TYPED_TEST(SenderTest, WaitsWhileTheSocketIsFull) {
    NarrowWire narrow{headSize, {EAGAIN, 0, EAGAIN}};
    this->sender.send(narrow.wire(), this->request);

    EXPECT_EQ(narrow.received, this->expected);
    EXPECT_EQ(narrow.waits, 2);
}

TYPED_TEST(SenderTest, ABrokenWireIsAnError) {
    NarrowWire narrow{headSize, {0, ECONNRESET}};
    try {
        this->sender.send(narrow.wire(), this->request);
        FAIL() << "nothing was thrown";
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code().value(), ECONNRESET);
    }
    EXPECT_EQ(narrow.calls, 2);
}

TYPED_TEST(SenderTest, AWireThatTakesNothingIsAnErrorAndNoEndlessLoop) {
    NarrowWire narrow{0};

    EXPECT_THROW(this->sender.send(narrow.wire(), this->request), std::system_error);
    EXPECT_EQ(narrow.calls, 1);
}

TYPED_TEST(SenderTest, FillsASmallNonBlockingSocketAsItIsRead) {
    const auto [ours, theirs] = socketPair();
    const int small = 1;
    ASSERT_EQ(::setsockopt(ours.descriptor(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): no other way to say it
    ASSERT_EQ(::fcntl(ours.descriptor(), F_SETFL, O_NONBLOCK), 0);
    const std::string value = countingText(1'000'000);
    const auto request = encodeSet("4key", {viewOf(value)}, datatype::raw);
    Bytes received(encodedSize(request));
    std::thread reader{[&received, &theirs = theirs] { receiveAll(theirs, received); }};

    this->sender.send(wireOf(ours.descriptor()), request);
    reader.join();

    EXPECT_TRUE(std::equal(request.head.begin(), request.head.end(), received.begin()));
    EXPECT_EQ(textOf(ByteView{received}.subspan(headSize)), value);
}

TYPED_TEST(SenderTest, APeerThatLeftIsAnErrorAndNoSignal) {
    auto [ours, theirs] = socketPair();
    { const Socket leaving = std::move(theirs); }

    EXPECT_THROW(this->sender.send(wireOf(ours.descriptor()), this->request), std::system_error);
}

class SenderCallsTest : public SenderTest<SendMessage> {
   protected:
    int callsOf(const Sender& variant) {
        NarrowWire wide{1000};
        variant.send(wide.wire(), request);
        return wide.calls;
    }
};

TEST_F(SenderCallsTest, OnlySendPerChunkMakesACallForEachChunk) {
    EXPECT_EQ(callsOf(SendPerChunk{}), 3);
    EXPECT_EQ(callsOf(CopyAndSend{}), 1);
    EXPECT_EQ(callsOf(SendMessage{}), 1);
}

TEST_F(SenderCallsTest, SendMessageNeverGivesMoreChunksThanTheSystemTakes) {
    NarrowWire wide{1'000'000};
    const std::vector<ByteView> many(std::size_t{2} * IOV_MAX, viewOf(second));
    sender.send(wide.wire(), encodeSet("4key", many, datatype::raw));

    EXPECT_EQ(wide.received.size(), headSize + many.size() * second.size());
    EXPECT_EQ(wide.longestList, static_cast<std::size_t>(IOV_MAX));
}

TEST(SelectedSenderTest, IsMadeUnderItsOwnName) {
    EXPECT_EQ(senderVariant(), SelectedSender::variant);
    EXPECT_NE(dynamic_cast<SelectedSender*>(makeSender().get()), nullptr);
}

}  // namespace
}  // namespace send_buffer
