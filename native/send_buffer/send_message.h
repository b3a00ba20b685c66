// SPDX-License-Identifier: Apache-2.0
/// Variant `sendmsg`: the system gathers the chunks from where they are.
#pragma once

#include <string_view>

#include "send_buffer/sender.h"

namespace send_buffer {

/// One call as long as the socket has room, and no copy.
class SendMessage : public Sender {
   public:
    static constexpr std::string_view variant = "sendmsg";

    void send(const Wire& wire, const EncodedRequest& request) const override;
};

}  // namespace send_buffer
