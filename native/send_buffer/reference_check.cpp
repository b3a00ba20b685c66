// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/reference_check.h"

#include <algorithm>
#include <string>

namespace send_buffer {

Bytes referencePacket(const EncodedRequest& request) {
    Bytes packet;
    packet.reserve(encodedSize(request));
    append(packet, request.head);
    for (const ByteView value : request.values) {
        append(packet, value);
    }
    return packet;
}

benchgate::Mismatch compareWithReference(const EncodedRequest& request, ByteView received, Status expected,
                                         Status answered) {
    const Bytes reference = referencePacket(request);
    if (!std::equal(reference.begin(), reference.end(), received.begin(), received.end())) {
        return "the server received " + std::to_string(received.size()) + " bytes that are not the " +
               std::to_string(reference.size()) + " of the packet";
    }
    if (answered != expected) {
        return "the server answered with status " + std::to_string(static_cast<int>(answered)) + " instead of " +
               std::to_string(static_cast<int>(expected));
    }
    return std::nullopt;
}

}  // namespace send_buffer
