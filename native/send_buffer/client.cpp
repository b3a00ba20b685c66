// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/client.h"

#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include "send_buffer/limits.h"

namespace send_buffer {

Client::Client(Socket socket, std::unique_ptr<Sender> sender)
    : socket_{std::move(socket)}, wire_{wireOf(socket_.descriptor())}, sender_{std::move(sender)} {}

Reply Client::exchange(const EncodedRequest& request) {
    sender_->send(wire_, request);
    return receive();
}

Reply Client::receive() {
    std::array<std::byte, Header::size> headerBytes{};
    if (!receiveAll(socket_, headerBytes)) {
        throw std::runtime_error{"the server ended the connection"};
    }
    Reply reply{.header = decodeHeader(headerBytes), .body = {}};
    const Header& header = reply.header;
    if (header.magic != static_cast<std::uint8_t>(Magic::Response) || header.bodyLength > Limits{}.packet ||
        std::size_t{header.extrasLength} + header.keyLength > header.bodyLength) {
        throw std::runtime_error{"the server's answer is malformed"};
    }
    reply.body.resize(header.bodyLength);
    if (!receiveAll(socket_, reply.body)) {
        throw std::runtime_error{"the server ended the connection within an answer"};
    }
    return reply;
}

std::vector<Feature> Client::hello(std::string_view agent, std::span<const Feature> features) {
    const Reply reply = exchange(encodeHello(agent, features));
    std::vector<Feature> granted;
    for (ByteView left = reply.value(); left.size() >= 2; left = left.subspan(2)) {
        granted.push_back(static_cast<Feature>(readInteger<std::uint16_t>(left)));
    }
    return granted;
}

std::uint64_t Client::responseCount(Status status) {
    const std::string wanted = std::to_string(static_cast<std::uint16_t>(status));
    std::uint64_t count = 0;
    for (Reply reply = exchange(encodeStat("responses")); !reply.key().empty(); reply = receive()) {
        if (textOf(reply.key()) == wanted) {
            count = std::stoull(std::string{textOf(reply.value())});
        }
    }
    return count;
}

std::optional<Bytes> Client::get(std::string_view key) {
    const Reply reply = exchange(encodeGet(key));
    if (reply.status() != Status::Success) {
        return std::nullopt;
    }
    const ByteView value = reply.value();
    return Bytes{value.begin(), value.end()};
}

}  // namespace send_buffer
