// SPDX-License-Identifier: Apache-2.0
/// How a client puts a request on the wire: the seam between the variants.
#pragma once

#include <memory>
#include <string_view>

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

/// Makes the selected variant without telling its type.
std::unique_ptr<Sender> makeSender();

/// The selected variant's name in results.
std::string_view senderVariant();

}  // namespace send_buffer
