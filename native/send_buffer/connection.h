// SPDX-License-Identifier: Apache-2.0
/// The connection to one client: receives whole packets and sends the answers of its session.
#pragma once

#include <functional>

#include "send_buffer/bucket.h"
#include "send_buffer/bytes.h"
#include "send_buffer/limits.h"
#include "send_buffer/response.h"
#include "send_buffer/session.h"
#include "send_buffer/socket.h"

namespace send_buffer {

/// Called with the header and the body of each packet, before the packet is answered.
using PacketObserver = std::function<void(ByteView header, ByteView body)>;

class Connection {
   public:
    /// The arguments must outlive the connection.
    Connection(const Socket& socket, const Limits& limits, Bucket& bucket, ResponseCounts& counts,
               const PacketObserver& observer)
        : socket_{socket},
          observer_{observer},
          counts_{counts},
          buffer_{limits.packet},
          session_{limits, bucket, counts} {}

    /// Serves until the client disconnects, the connection is shut down, or the client's bytes cannot be parsed any
    /// more.
    void serve();

   private:
    /// Returns false if the connection cannot continue.
    bool serveOne();
    /// Answers bytes that are not a packet, or announce one that is too long. The client gets the reason, and the
    /// connection ends.
    bool refuse(const Header& header, Status status);
    void sendResponse(const Header& header, const Response& response) const;

    const Socket& socket_;
    const PacketObserver& observer_;
    ResponseCounts& counts_;
    RawBuffer buffer_;
    Session session_;
};

}  // namespace send_buffer
