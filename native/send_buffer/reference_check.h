// SPDX-License-Identifier: Apache-2.0
/// Reference checks that the selected sender must pass before it is timed.
#pragma once

#include "harness/checked_benchmark.h"
#include "send_buffer/worlds.h"

namespace send_buffer {

/// Returns the packet as one block, as it must arrive however it is sent.
Bytes referencePacket(const EncodedRequest& request);

/// Compares the received bytes and the answer with the reference.
benchgate::Mismatch compareWithReference(const EncodedRequest& request, ByteView received, Status expected,
                                         Status answered);

/// Checks a SET of each measured size.
template <typename Transport>
benchgate::Mismatch checkSets(int /*threads*/) {
    for (const std::size_t size : measuredSizes) {
        Bytes received;
        SetWorld<Transport> world{size, [&received](ByteView header, ByteView body) {
                                      append(received, header);
                                      append(received, body);
                                  }};
        const Status answered = world.client.exchange(world.request).status();
        // The server has received everything before it answers, and receives nothing more until the next request.
        if (auto mismatch = compareWithReference(world.request, received, world.expected, answered)) {
            return mismatch;
        }
    }
    return std::nullopt;
}

}  // namespace send_buffer
