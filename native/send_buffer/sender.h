// SPDX-License-Identifier: Apache-2.0
/// The interface of the variants: how a client sends a request.
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

    /// Sends the request. Returns when the wire has taken every byte; throws std::system_error if the wire broke.
    virtual void send(const Wire& wire, const EncodedRequest& request) const = 0;
};

/// Makes a sender of the selected variant. Only this function's source includes the selected type.
std::unique_ptr<Sender> makeSender();

/// Returns the selected variant's name in results.
std::string_view senderVariant();

}  // namespace send_buffer
