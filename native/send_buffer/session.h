// SPDX-License-Identifier: Apache-2.0
/// What a client's requests do, without any socket: one session per connection.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "send_buffer/bucket.h"
#include "send_buffer/bytes.h"
#include "send_buffer/limits.h"
#include "send_buffer/protocol.h"
#include "send_buffer/response.h"

namespace send_buffer {

/// Knows what its client negotiated. Nothing that a client sends makes it fail, or take more than Limits::packet for a
/// request's value.
class Session {
   public:
    Session(const Limits& limits, Bucket& bucket, ResponseCounts& counts)
        : limits_{limits}, bucket_{bucket}, counts_{counts} {}

    /// Answers a request, in one packet but for STAT, and counts what it answered.
    std::vector<Response> answer(const Packet& request);

   private:
    /// A value as it was before it was compressed.
    struct PlainValue {
        Status status = Status::Success;
        RawBuffer decompressed;
        ByteView bytes;
    };

    std::vector<Response> dispatch(const Packet& request);
    Response hello(const Packet& request);
    [[nodiscard]] Response get(const Packet& request) const;
    Response set(const Packet& request);
    Response setWithMeta(const Packet& request);
    Response upsertXattr(const Packet& request);
    [[nodiscard]] std::vector<Response> stat(const Packet& request) const;

    /// Whether every bit of the datatype was negotiated.
    [[nodiscard]] bool understands(std::uint8_t datatype) const;
    [[nodiscard]] PlainValue plainValueOf(const Packet& request) const;

    const Limits& limits_;
    Bucket& bucket_;
    ResponseCounts& counts_;
    std::set<Feature> features_;
};

}  // namespace send_buffer
