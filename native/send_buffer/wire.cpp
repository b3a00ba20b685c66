// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/wire.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

namespace send_buffer {

Wire wireOf(int socket) {
    return {.send = [socket](ByteView bytes) { return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL); },
            .sendMessage =
                [socket](std::span<iovec> chunks) {
                    // Set by name, because the order of the members differs between systems.
                    msghdr message{};
                    message.msg_iov = chunks.data();
                    message.msg_iovlen = chunks.size();
                    return ::sendmsg(socket, &message, MSG_NOSIGNAL);
                },
            .waitUntilWritable =
                [socket] {
                    pollfd writable{.fd = socket, .events = POLLOUT, .revents = 0};
                    // Its result does not matter: the next call reports any error.
                    ::poll(&writable, 1, -1);
                }};
}

std::size_t bytesTaken(const Wire& wire, ssize_t result) {
    if (result > 0) {
        return static_cast<std::size_t>(result);
    }
    const int error = result < 0 ? errno : EPIPE;
    if (error == EINTR) {
        return 0;
    }
    if (error == EAGAIN || error == EWOULDBLOCK) {
        wire.waitUntilWritable();
        return 0;
    }
    throw std::system_error{error, std::generic_category(), "cannot send"};
}

void sendAll(const Wire& wire, ByteView bytes) {
    while (!bytes.empty()) {
        bytes = bytes.subspan(bytesTaken(wire, wire.send(bytes)));
    }
}

}  // namespace send_buffer
