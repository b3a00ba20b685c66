// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/copy_and_send.h"

#include <algorithm>
#include <iterator>

namespace send_buffer {

void CopyAndSend::send(const Wire& wire, const EncodedRequest& request) const {
    // Byte by byte into a vector that grows as it must, with no reserve(): this is the system under benchmark. A
    // sanitizer looks at each of these accesses, but at a whole block of memcpy() only once.
    Bytes frame;
    const auto end = std::back_inserter(frame);
    std::copy(request.head.begin(), request.head.end(), end);
    for (const ByteView value : request.values) {
        std::copy(value.begin(), value.end(), end);
    }
    sendAll(wire, frame);
}

}  // namespace send_buffer
