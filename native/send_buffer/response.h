// SPDX-License-Identifier: Apache-2.0
/// The server's answers: their encoding, and how many there were of each status.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "send_buffer/bytes.h"
#include "send_buffer/protocol.h"

namespace send_buffer {

struct Response {
    Status status = Status::Success;
    std::uint8_t datatype = datatype::raw;
    Bytes extras = {};
    Bytes key = {};
    Bytes value = {};
};

Bytes encodeResponse(const Header& request, const Response& response);

/// How often the server answered with each status. Any number of threads may use it.
class ResponseCounts {
   public:
    void add(Status status);
    [[nodiscard]] std::uint64_t of(Status status) const;
    /// Returns every status with its count.
    [[nodiscard]] std::vector<std::pair<Status, std::uint64_t>> all() const;

   private:
    static constexpr std::array statuses{Status::Success, Status::KeyNotFound,    Status::TooBig,
                                         Status::Invalid, Status::UnknownCommand, Status::OutOfMemory};

    static std::size_t indexOf(Status status);

    std::array<std::atomic<std::uint64_t>, statuses.size()> counts_{};
};

}  // namespace send_buffer
