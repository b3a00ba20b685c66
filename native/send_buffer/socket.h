// SPDX-License-Identifier: Apache-2.0
/// Sockets of this machine, closed when they go out of scope.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "send_buffer/bytes.h"

namespace send_buffer {

class Socket {
   public:
    Socket() = default;
    explicit Socket(int descriptor) : descriptor_{descriptor} {}
    ~Socket();
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    Socket(Socket&& other) noexcept : descriptor_{std::exchange(other.descriptor_, -1)} {}
    Socket& operator=(Socket&& other) noexcept;

    [[nodiscard]] int descriptor() const { return descriptor_; }

    /// Ends both directions: whoever reads or accepts on it, in whichever thread, returns.
    void shutDown() const;

    /// Ends our direction: the peer reads what was sent, then the end.
    void finishSending() const;

   private:
    int descriptor_ = -1;
};

/// Two connected ends within this process.
std::pair<Socket, Socket> socketPair();

/// Listens on 127.0.0.1, on a port that the system chooses.
Socket listenOnLoopback();

std::uint16_t portOf(const Socket& listener);

/// The next client; an empty socket once the listener was shut down.
Socket acceptOn(const Socket& listener);

Socket connectToLoopback(std::uint16_t port);

/// Fills all of `bytes`; false if the peer ended or broke the connection before.
bool receiveAll(const Socket& socket, std::span<std::byte> bytes);

/// Receives until the peer ended or broke the connection, and keeps nothing.
void discardIncoming(const Socket& socket);

}  // namespace send_buffer
