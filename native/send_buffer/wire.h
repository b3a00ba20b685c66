// SPDX-License-Identifier: Apache-2.0
/// The socket calls that senders make, so that tests can put others in their place.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <functional>
#include <span>

#include "send_buffer/bytes.h"

namespace send_buffer {

struct Wire {
    /// As ::send(): how many of the bytes were taken, or -1 and errno.
    std::function<ssize_t(ByteView)> send;
    /// As ::sendmsg(): how many bytes of all chunks together were taken, or -1 and errno.
    std::function<ssize_t(std::span<iovec>)> sendMessage;
    /// Called after EAGAIN.
    std::function<void()> waitUntilWritable;
};

/// The wire of a socket, blocking or not. A peer that went away is an error, never a signal.
Wire wireOf(int socket);

/// What became of one call: how many bytes were taken, 0 if it is to be made again. Throws std::system_error if the
/// wire is broken.
std::size_t bytesTaken(const Wire& wire, ssize_t result);

/// Sends until every byte was taken.
void sendAll(const Wire& wire, ByteView bytes);

}  // namespace send_buffer
