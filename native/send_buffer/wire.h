// SPDX-License-Identifier: Apache-2.0
/// The socket calls that senders make, which tests can replace.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <functional>
#include <span>

#include "send_buffer/bytes.h"

namespace send_buffer {

struct Wire {
    /// Like ::send(): returns how many of the bytes were taken, or -1 and errno.
    std::function<ssize_t(ByteView)> send;
    /// Like ::sendmsg(): returns how many bytes of all chunks together were taken, or -1 and errno.
    std::function<ssize_t(std::span<iovec>)> sendMessage;
    /// Called after EAGAIN.
    std::function<void()> waitUntilWritable;
};

/// Returns the wire of a socket, blocking or not. A peer that disconnected is an error, never a signal.
Wire wireOf(int socket);

/// Evaluates the result of one call: returns how many bytes were taken, or 0 if the call must be repeated. Throws
/// std::system_error if the wire is broken.
std::size_t bytesTaken(const Wire& wire, ssize_t result);

/// Sends until every byte was taken.
void sendAll(const Wire& wire, ByteView bytes);

}  // namespace send_buffer
