// SPDX-License-Identifier: Apache-2.0
/// Checks that what the selected sender sends is what the server receives, before it is timed.
#pragma once

#include "harness/checked_benchmark.h"
#include "send_buffer/worlds.h"

namespace send_buffer {

/// The packet as one block, which is what must arrive however it was sent.
Bytes referencePacket(const EncodedRequest& request);

/// Compares what arrived and what was answered with the reference.
benchgate::Mismatch compareWithReference(const EncodedRequest& request, ByteView received, Status expected,
                                         Status answered);

/// Sends a SET of each measured size.
template <typename Transport>
benchgate::Mismatch checkSets(int /*threads*/) {
    for (const std::size_t size : measuredSizes) {
        Bytes received;
        SetWorld<Transport> world{size, [&received](ByteView header, ByteView body) {
                                      append(received, header);
                                      append(received, body);
                                  }};
        const Status answered = world.client.exchange(world.request).status();
        // The server has received before it answers, and receives no more until it is asked again.
        if (auto mismatch = compareWithReference(world.request, received, world.expected, answered)) {
            return mismatch;
        }
    }
    return std::nullopt;
}

}  // namespace send_buffer
