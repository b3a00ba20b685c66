// SPDX-License-Identifier: Apache-2.0
/// The suite `send_buffer`: one client sends a SET and waits for the answer, again and again.
#include <string>

#include "harness/checked_benchmark.h"
#include "harness/suite.h"
#include "send_buffer/reference_check.h"
#include "send_buffer/server.h"
#include "send_buffer/worlds.h"

namespace send_buffer {
namespace {

template <typename Transport>
constinit benchgate::WorldOwner<SetWorld<Transport>> setOwner;

template <typename Transport>
void setDocument(benchmark::State& state, SetWorld<Transport>& world) {
    for ([[maybe_unused]] auto _ : state) {
        if (world.client.exchange(world.request).status() != world.expected) {
            benchgate::rejectTime(state, "the server answered with another status");
            break;
        }
    }
    state.SetItemsProcessed(state.iterations());
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

template <typename Transport>
void registerSets(const std::string& name) {
    auto* registered =
        benchgate::registerChecked<setOwner<Transport>>(name, checkSets<Transport>, setDocument<Transport>);
    registered->ArgName("bytes")->UseRealTime()->Unit(benchmark::kMicrosecond);
    for (const std::size_t size : measuredSizes) {
        registered->Arg(static_cast<std::int64_t>(size));
    }
}

void registerSetBenchmarks() {
    registerSets<Loopback>("SendBuffer/SetOverLoopback");
    registerSets<SocketPair>("SendBuffer/SetOverSocketPair");
}

}  // namespace
}  // namespace send_buffer

benchgate::Suite benchgate::describeSuite() {
    return {.name = "send_buffer",
            .variant = std::string{send_buffer::senderVariant()},
            .registerBenchmarks = send_buffer::registerSetBenchmarks};
}
