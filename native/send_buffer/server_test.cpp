// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "send_buffer/byte_literals_for_test.h"
#include "send_buffer/client.h"
#include "send_buffer/send_message.h"
#include "send_buffer/sender.h"
#include "send_buffer/wire.h"

namespace send_buffer {
namespace {

constexpr Limits smallServer{
    .document = 1000, .systemXattrs = 100, .packet = 4000, .bucket = 100'000, .connections = 4};

template <typename Transport>
class ServerTest : public testing::Test {
   protected:
    Client connect() { return Client{Transport::connect(server), std::make_unique<SendMessage>()}; }

    /// A client that does not know the protocol.
    Socket connectRaw() { return Transport::connect(server); }

    static void sendRaw(const Socket& socket, const Bytes& bytes) { sendAll(wireOf(socket.descriptor()), bytes); }

    static Status receiveStatus(const Socket& socket) {
        Bytes answer(Header::size);
        EXPECT_TRUE(receiveAll(socket, answer));
        return decodeHeader(ByteView{answer}.first<Header::size>()).status();
    }

    // A client that left takes its place for a moment after its connection was closed.
    bool isServedSoon() {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
        while (std::chrono::steady_clock::now() < deadline) {
            try {
                return connect().get("key") == std::nullopt;
            } catch (const std::exception&) {
                std::this_thread::yield();
            }
        }
        return false;
    }

    static bool hasEnded(const Socket& socket) {
        Bytes nothing(1);
        return !receiveAll(socket, nothing);
    }

    static Bytes headerOf(const Header& header) {
        Bytes encoded;
        appendHeader(encoded, header);
        return encoded;
    }

    Server server{{.limits = smallServer}};
};

using Transports = testing::Types<Loopback, SocketPair>;
TYPED_TEST_SUITE(ServerTest, Transports);

TYPED_TEST(ServerTest, KeepsADocument) {
    Client client = this->connect();
    const std::string value(1000, 'a');

    EXPECT_EQ(client.exchange(encodeSet("key", {viewOf(value)}, datatype::raw)).status(), Status::Success);
    EXPECT_EQ(client.get("key"), copyOf(value));
}

TYPED_TEST(ServerTest, ReceivesAllOfADocumentThatItRefusesAndGoesOn) {
    Client client = this->connect();
    const std::string value(1001, 'a');

    EXPECT_EQ(client.exchange(encodeSet("key", {viewOf(value)}, datatype::raw)).status(), Status::TooBig);
    EXPECT_EQ(client.responseCount(Status::TooBig), 1U);
    EXPECT_EQ(client.get("key"), std::nullopt);
}

TYPED_TEST(ServerTest, AnswersPacketsThatArriveTogetherOneByOne) {
    const Socket raw = this->connectRaw();
    Bytes both = encodeGet("one").head;
    append(both, encodeStat("other").head);
    this->sendRaw(raw, both);

    EXPECT_EQ(this->receiveStatus(raw), Status::KeyNotFound);
    EXPECT_EQ(this->receiveStatus(raw), Status::Invalid);
}

TYPED_TEST(ServerTest, AnswersAPacketThatArrivesByteByByte) {
    const Socket raw = this->connectRaw();
    for (const std::byte byte : encodeGet("one").head) {
        this->sendRaw(raw, {byte});
    }

    EXPECT_EQ(this->receiveStatus(raw), Status::KeyNotFound);
}

TYPED_TEST(ServerTest, BadMagicIsAnsweredAndTheConnectionClosed) {
    const Socket raw = this->connectRaw();
    this->sendRaw(raw, Bytes(Header::size, std::byte{'G'}));

    EXPECT_EQ(this->receiveStatus(raw), Status::Invalid);
    EXPECT_TRUE(this->hasEnded(raw));
}

TYPED_TEST(ServerTest, AnEndlessBodyIsAnsweredAndTheConnectionClosed) {
    const Socket raw = this->connectRaw();
    this->sendRaw(raw, this->headerOf({.magic = 0x80, .opcode = 0x01, .bodyLength = 0xffffffff}));

    EXPECT_EQ(this->receiveStatus(raw), Status::TooBig);
    EXPECT_TRUE(this->hasEnded(raw));
}

TYPED_TEST(ServerTest, AClientThatSendsAllOfATooLongPacketGetsTheAnswer) {
    Client client = this->connect();
    // More than sockets can hold while nobody reads.
    const std::string value(std::size_t{20} << 20U, 'a');

    EXPECT_EQ(client.exchange(encodeSet("key", {viewOf(value)}, datatype::raw)).status(), Status::TooBig);
    EXPECT_THROW(client.get("key"), std::runtime_error);
}

TYPED_TEST(ServerTest, PartsLongerThanTheBodyAreInvalidAndTheConnectionGoesOn) {
    const Socket raw = this->connectRaw();
    Bytes packet = this->headerOf({.magic = 0x80, .opcode = 0x01, .keyLength = 9, .extrasLength = 8, .bodyLength = 5});
    append(packet, Bytes(5));
    append(packet, encodeGet("one").head);
    this->sendRaw(raw, packet);

    EXPECT_EQ(this->receiveStatus(raw), Status::Invalid);
    EXPECT_EQ(this->receiveStatus(raw), Status::KeyNotFound);
}

TYPED_TEST(ServerTest, AClientThatStopsWithinAPacketHarmsNoOther) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{7}, Header::size, Header::size + 5}) {
        const Socket raw = this->connectRaw();
        Bytes packet = encodeSet("key", {}, datatype::raw).head;
        packet.resize(size);
        this->sendRaw(raw, packet);
        raw.finishSending();
        EXPECT_TRUE(this->hasEnded(raw));
    }

    EXPECT_TRUE(this->isServedSoon());
}

TYPED_TEST(ServerTest, ServesClientsAtTheSameTime) {
    constexpr int clients = 3;
    constexpr int rounds = 50;
    std::vector<std::thread> threads;
    threads.reserve(clients);
    for (int number = 0; number < clients; ++number) {
        threads.emplace_back([this, number] {
            Client client = this->connect();
            const std::string key = "key" + std::to_string(number);
            for (int round = 0; round < rounds; ++round) {
                const std::string value = std::to_string(round);
                client.exchange(encodeSet(key, {viewOf(value)}, datatype::raw));
                EXPECT_EQ(client.get(key), copyOf(value));
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }

    EXPECT_EQ(this->connect().responseCount(Status::Success), std::uint64_t{2} * clients * rounds);
}

TYPED_TEST(ServerTest, AClientBeyondTheLimitIsRejected) {
    std::vector<Client> served;
    while (served.size() < smallServer.connections) {
        served.push_back(this->connect());
        // It was answered, so it is counted.
        served.back().get("key");
    }

    EXPECT_TRUE(this->hasEnded(this->connectRaw()));
}

TYPED_TEST(ServerTest, ADisconnectedClientMakesRoom) {
    for (std::size_t past = 0; past < 3 * smallServer.connections; ++past) {
        const Socket raw = this->connectRaw();
        raw.finishSending();
        EXPECT_TRUE(this->hasEnded(raw));
    }

    EXPECT_TRUE(this->isServedSoon());
}

TYPED_TEST(ServerTest, StopsWhileClientsAreConnected) {
    auto server = std::make_unique<Server>();
    const Socket idle = TypeParam::connect(*server);
    Client client{TypeParam::connect(*server), makeSender()};
    client.get("key");

    server.reset();

    EXPECT_TRUE(this->hasEnded(idle));
    EXPECT_THROW(client.get("key"), std::runtime_error);
}

TEST(ServerOptionsTest, AnObserverSeesThePacketBeforeItIsAnswered) {
    Bytes seen;
    Server server{{.observer = [&seen](ByteView header, ByteView body) {
        append(seen, header);
        append(seen, body);
    }}};
    const auto request = encodeGet("key");
    Client{server.connectPair(), makeSender()}.exchange(request);

    EXPECT_EQ(seen, request.head);
}

TEST(ServerOptionsTest, EachConnectionsThreadIsPrepared) {
    std::atomic<int> prepared{0};
    Server server{{.prepareThread = [&prepared] { ++prepared; }}};
    Client{server.connectPair(), makeSender()}.get("key");
    Client{connectToLoopback(server.port()), makeSender()}.get("key");

    EXPECT_EQ(prepared, 2);
}

}  // namespace
}  // namespace send_buffer
