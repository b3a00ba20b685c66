// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/connection.h"

#include <array>
#include <system_error>

#include "send_buffer/wire.h"

namespace send_buffer {

void Connection::serve() {
    try {
        while (serveOne()) {
        }
    } catch (const std::system_error&) {
        // The client disconnected before it had its answer.
    }
}

bool Connection::serveOne() {
    std::array<std::byte, Header::size> headerBytes{};
    if (!receiveAll(socket_, headerBytes)) {
        return false;
    }
    const Header header = decodeHeader(headerBytes);
    if (header.magic != static_cast<std::uint8_t>(Magic::Request)) {
        return refuse(header, Status::Invalid);
    }
    if (header.bodyLength > buffer_.capacity()) {
        return refuse(header, Status::TooBig);
    }
    // The body is received even if the packet will be refused: the client is still sending it, and the next packet
    // follows it.
    const auto body = buffer_.first(header.bodyLength);
    if (!receiveAll(socket_, body)) {
        return false;
    }
    if (observer_) {
        observer_(headerBytes, body);
    }
    const auto packet = splitBody(header, body);
    if (!packet) {
        counts_.add(Status::Invalid);
        sendResponse(header, {.status = Status::Invalid});
        return true;
    }
    for (const Response& response : session_.answer(*packet)) {
        sendResponse(header, response);
    }
    return true;
}

bool Connection::refuse(const Header& header, Status status) {
    counts_.add(status);
    sendResponse(header, {.status = status});
    return false;
}

void Connection::sendResponse(const Header& header, const Response& response) const {
    sendAll(wireOf(socket_.descriptor()), encodeResponse(header, response));
}

}  // namespace send_buffer
