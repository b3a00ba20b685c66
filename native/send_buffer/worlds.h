// SPDX-License-Identifier: Apache-2.0
/// The worlds of this suite: a server, and a client of it with a SET for the selected sender.
#pragma once

#include <benchmark/benchmark.h>

#include <array>
#include <string>

#include "harness/pinning.h"
#include "send_buffer/client.h"
#include "send_buffer/limits.h"
#include "send_buffer/sender.h"
#include "send_buffer/server.h"

namespace send_buffer {

/// A small value, a large one, and the smallest one that is refused.
constexpr std::array<std::size_t, 3> measuredSizes{1024, std::size_t{1} << 20U, Limits{}.document + 1};

template <typename Transport>
struct SetWorld {
    explicit SetWorld(std::size_t size, const PacketObserver& observer = {})
        : value(size, 'a'),
          request{encodeSet("SendBuffer", {viewOf(value)}, datatype::raw)},
          expected{size <= Limits{}.document ? Status::Success : Status::TooBig},
          // The client's thread has the first CPU.
          server{{.limits = {},
                  .observer = observer,
                  .prepareThread = [] { benchgate::pinForGood(benchgate::cpuForThread(1)); }}},
          client{Transport::connect(server), makeSender()} {}
    explicit SetWorld(const benchmark::State& state) : SetWorld{static_cast<std::size_t>(state.range(0))} {}

    std::string value;
    EncodedRequest request;
    Status expected = Status::Success;
    Server server;
    Client client;
};

}  // namespace send_buffer
