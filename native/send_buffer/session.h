// SPDX-License-Identifier: Apache-2.0
/// The processing of a client's requests, without any socket: one session per connection.
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

/// A session, which knows the features that its client negotiated. No request can make it fail, or use more than
/// Limits::packet for the request's value.
class Session {
   public:
    Session(const Limits& limits, Bucket& bucket, ResponseCounts& counts)
        : limits_{limits}, bucket_{bucket}, counts_{counts} {}

    /// Answers a request, with one packet except for STAT, and counts the answer's status.
    std::vector<Response> answer(const Packet& request);

   private:
    /// A decompressed value.
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

    /// Returns whether every bit of the datatype was negotiated.
    [[nodiscard]] bool understands(std::uint8_t datatype) const;
    [[nodiscard]] PlainValue plainValueOf(const Packet& request) const;

    const Limits& limits_;
    Bucket& bucket_;
    ResponseCounts& counts_;
    std::set<Feature> features_;
};

}  // namespace send_buffer
