// SPDX-License-Identifier: Apache-2.0
/// Variant `send_per_chunk`: one call of send() for each chunk.
#pragma once

#include <string_view>

#include "send_buffer/sender.h"

namespace send_buffer {

/// Copies nothing, but the peer receives the head alone, wakes up for it, and waits again.
class SendPerChunk : public Sender {
   public:
    static constexpr std::string_view variant = "send_per_chunk";

    void send(const Wire& wire, const EncodedRequest& request) const override;
};

}  // namespace send_buffer
