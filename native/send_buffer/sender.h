/// How a client puts a request on the wire: the seam between the variants.
#pragma once

#include "send_buffer/request.h"
#include "send_buffer/wire.h"

namespace send_buffer {

class Sender {
   public:
    Sender() = default;
    virtual ~Sender() = default;
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;
    Sender(Sender&&) = delete;
    Sender& operator=(Sender&&) = delete;

    /// Returns when the wire took every byte; throws std::system_error if it broke.
    virtual void send(const Wire& wire, const EncodedRequest& request) const = 0;
};

}  // namespace send_buffer
