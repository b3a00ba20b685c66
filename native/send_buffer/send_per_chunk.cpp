// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/send_per_chunk.h"

namespace send_buffer {

void SendPerChunk::send(const Wire& wire, const EncodedRequest& request) const {
    sendAll(wire, request.head);
    for (const ByteView value : request.values) {
        sendAll(wire, value);
    }
}

}  // namespace send_buffer
