// SPDX-License-Identifier: Apache-2.0
/// Serves one client: receives packets whole, and sends what its session answers.
#pragma once

#include <functional>

#include "send_buffer/bucket.h"
#include "send_buffer/bytes.h"
#include "send_buffer/limits.h"
#include "send_buffer/response.h"
#include "send_buffer/session.h"
#include "send_buffer/socket.h"

namespace send_buffer {

/// Sees the header and the body of each packet before it is answered.
using PacketObserver = std::function<void(ByteView header, ByteView body)>;

class Connection {
   public:
    /// All of it must outlive the connection.
    Connection(const Socket& socket, const Limits& limits, Bucket& bucket, ResponseCounts& counts,
               const PacketObserver& observer)
        : socket_{socket},
          observer_{observer},
          counts_{counts},
          buffer_{limits.packet},
          session_{limits, bucket, counts} {}

    /// Returns when the client went away, was shut down, or could not be understood any more.
    void serve();

   private:
    /// False if the connection cannot go on.
    bool serveOne();
    /// For what is no packet or too long for one: the client hears why, and is left.
    bool refuse(const Header& header, Status status);
    void sendResponse(const Header& header, const Response& response) const;

    const Socket& socket_;
    const PacketObserver& observer_;
    ResponseCounts& counts_;
    RawBuffer buffer_;
    Session session_;
};

}  // namespace send_buffer
