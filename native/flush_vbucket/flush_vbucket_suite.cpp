// SPDX-License-Identifier: Apache-2.0
/// The suite `flush_vbucket`: the heap that a flush to disk needs per item.
#include <string>

#include "flush_vbucket/flush_vbucket_benchmarks.h"
#include "flush_vbucket/flusher.h"
#include "harness/suite.h"

namespace flush_vbucket {
namespace {

void registerBenchmarks() {
    registerFlushBenchmarks();
    registerQueueDirtyBenchmarks();
}

}  // namespace
}  // namespace flush_vbucket

benchgate::Suite benchgate::describeSuite() {
    return {.name = "flush_vbucket",
            .variant = std::string{flush_vbucket::callbackVariant()},
            .registerBenchmarks = flush_vbucket::registerBenchmarks};
}
