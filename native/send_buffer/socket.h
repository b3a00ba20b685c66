// SPDX-License-Identifier: Apache-2.0
/// Sockets within this machine, which are closed when they go out of scope.
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

    /// Ends both directions: calls that read from it or accept on it return, in all threads.
    void shutDown() const;

    /// Ends the sending direction: the peer reads the sent bytes, then the end.
    void finishSending() const;

   private:
    int descriptor_ = -1;
};

/// Returns two connected ends within this process.
std::pair<Socket, Socket> socketPair();

/// Listens on 127.0.0.1, on a port that the system chooses.
Socket listenOnLoopback();

std::uint16_t portOf(const Socket& listener);

/// Returns the next client, or an empty socket after the listener was shut down.
Socket acceptOn(const Socket& listener);

Socket connectToLoopback(std::uint16_t port);

/// Fills all of `bytes`. Returns false if the peer ended or broke the connection before that.
bool receiveAll(const Socket& socket, std::span<std::byte> bytes);

/// Receives and discards bytes until the peer ends or breaks the connection.
void discardIncoming(const Socket& socket);

}  // namespace send_buffer
