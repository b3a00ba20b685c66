// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/copy_and_send.h"

#include <algorithm>
#include <iterator>

namespace send_buffer {

void CopyAndSend::send(const Wire& wire, const EncodedRequest& request) const {
    // Copies byte by byte into a vector that grows as needed, without reserve(), because this is the code under
    // benchmark. A sanitizer checks each of these accesses, but a memcpy() of the whole block only once.
    Bytes frame;
    const auto end = std::back_inserter(frame);
    std::copy(request.head.begin(), request.head.end(), end);
    for (const ByteView value : request.values) {
        std::copy(value.begin(), value.end(), end);
    }
    sendAll(wire, frame);
}

}  // namespace send_buffer
