// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/response.h"

#include <algorithm>

namespace send_buffer {

Bytes encodeResponse(const Header& request, const Response& response) {
    const std::size_t bodyLength = response.extras.size() + response.key.size() + response.value.size();
    Bytes packet;
    packet.reserve(Header::size + bodyLength);
    appendHeader(packet, {.magic = static_cast<std::uint8_t>(Magic::Response),
                          .opcode = request.opcode,
                          .keyLength = static_cast<std::uint16_t>(response.key.size()),
                          .extrasLength = static_cast<std::uint8_t>(response.extras.size()),
                          .datatype = response.datatype,
                          .vbucketOrStatus = static_cast<std::uint16_t>(response.status),
                          .bodyLength = static_cast<std::uint32_t>(bodyLength),
                          .opaque = request.opaque});
    append(packet, response.extras);
    append(packet, response.key);
    append(packet, response.value);
    return packet;
}

void ResponseCounts::add(Status status) { counts_.at(indexOf(status)).fetch_add(1, std::memory_order_relaxed); }

std::uint64_t ResponseCounts::of(Status status) const {
    return counts_.at(indexOf(status)).load(std::memory_order_relaxed);
}

std::vector<std::pair<Status, std::uint64_t>> ResponseCounts::all() const {
    std::vector<std::pair<Status, std::uint64_t>> all;
    all.reserve(statuses.size());
    for (const Status status : statuses) {
        all.emplace_back(status, of(status));
    }
    return all;
}

std::size_t ResponseCounts::indexOf(Status status) {
    return static_cast<std::size_t>(std::find(statuses.begin(), statuses.end(), status) - statuses.begin());
}

}  // namespace send_buffer
