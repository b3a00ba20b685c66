// SPDX-License-Identifier: Apache-2.0
/// A memcached client that sends through a variant of Sender and waits for each answer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "send_buffer/bytes.h"
#include "send_buffer/protocol.h"
#include "send_buffer/request.h"
#include "send_buffer/sender.h"
#include "send_buffer/socket.h"

namespace send_buffer {

/// An answer with a buffer of its own.
struct Reply {
    Header header;
    Bytes body;

    [[nodiscard]] Status status() const { return header.status(); }
    [[nodiscard]] ByteView key() const { return ByteView{body}.subspan(header.extrasLength, header.keyLength); }
    [[nodiscard]] ByteView value() const {
        return ByteView{body}.subspan(std::size_t{header.extrasLength} + header.keyLength);
    }
};

/// A client that throws std::runtime_error if the connection ends or an answer is malformed.
class Client {
   public:
    Client(Socket socket, std::unique_ptr<Sender> sender);

    Reply exchange(const EncodedRequest& request);
    Reply receive();

    /// Negotiates features and returns those that the server granted.
    std::vector<Feature> hello(std::string_view agent, std::span<const Feature> features);

    /// Returns how often the server answered with this status, to all clients together.
    std::uint64_t responseCount(Status status);

    /// Returns the document, or nothing if there is none.
    std::optional<Bytes> get(std::string_view key);

   private:
    Socket socket_;
    Wire wire_;
    std::unique_ptr<Sender> sender_;
};

}  // namespace send_buffer
