/// The suite `send_buffer`: what it costs to put a large request on the wire.
#include <string>

#include "harness/suite.h"
#include "send_buffer/make_sender.h"
#include "send_buffer/set_benchmark.h"

benchgate::Suite benchgate::describeSuite() {
    return {.name = "send_buffer",
            .variant = std::string{send_buffer::senderVariant()},
            .registerBenchmarks = send_buffer::registerSetBenchmarks};
}
