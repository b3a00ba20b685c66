// SPDX-License-Identifier: Apache-2.0
/// Variant `copy_and_send`: copies all chunks into one frame and sends that.
#pragma once

#include <string_view>

#include "send_buffer/sender.h"

namespace send_buffer {

/// Makes one call if the socket has room, at the price of a copy of everything.
class CopyAndSend : public Sender {
   public:
    static constexpr std::string_view variant = "copy_and_send";

    void send(const Wire& wire, const EncodedRequest& request) const override;
};

}  // namespace send_buffer
