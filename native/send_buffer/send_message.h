// SPDX-License-Identifier: Apache-2.0
/// Variant `sendmsg`: the system gathers the chunks from the caller's memory.
#pragma once

#include <string_view>

#include "send_buffer/sender.h"

namespace send_buffer {

/// Makes one call if the socket has room, and no copy.
class SendMessage : public Sender {
   public:
    static constexpr std::string_view variant = "sendmsg";

    void send(const Wire& wire, const EncodedRequest& request) const override;
};

}  // namespace send_buffer
