// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/send_message.h"

#include <algorithm>
#include <climits>
#include <span>
#include <vector>

namespace send_buffer {
namespace {

iovec chunkOf(ByteView bytes) {
    iovec chunk{};
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): the type also serves for receiving
    chunk.iov_base = const_cast<std::byte*>(bytes.data());
    chunk.iov_len = bytes.size();
    return chunk;
}

/// Builds a list that partial sends may change.
std::vector<iovec> chunksOf(const EncodedRequest& request) {
    std::vector<iovec> chunks{chunkOf(request.head)};
    chunks.reserve(1 + request.values.size());
    for (const ByteView value : request.values) {
        if (!value.empty()) {
            chunks.push_back(chunkOf(value));
        }
    }
    return chunks;
}

/// Returns the chunks that are left after `taken` bytes: without those that were sent whole, and with the first one
/// shortened.
std::span<iovec> skip(std::span<iovec> chunks, std::size_t taken) {
    while (!chunks.empty() && taken >= chunks.front().iov_len) {
        taken -= chunks.front().iov_len;
        chunks = chunks.subspan(1);
    }
    if (taken > 0) {
        iovec& first = chunks.front();
        first.iov_base = static_cast<std::byte*>(first.iov_base) + taken;
        first.iov_len -= taken;
    }
    return chunks;
}

}  // namespace

void SendMessage::send(const Wire& wire, const EncodedRequest& request) const {
    auto chunks = chunksOf(request);
    std::span<iovec> left{chunks};
    while (!left.empty()) {
        // The system rejects longer lists.
        const auto now = left.first(std::min<std::size_t>(left.size(), IOV_MAX));
        left = skip(left, bytesTaken(wire, wire.sendMessage(now)));
    }
}

}  // namespace send_buffer
