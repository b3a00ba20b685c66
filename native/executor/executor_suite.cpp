// SPDX-License-Identifier: Apache-2.0
/// The suite `executor`: what the owner of tasks costs the pools that serve it.
#include <string>

#include "executor/executor_benchmarks.h"
#include "executor/taskable.h"
#include "harness/suite.h"

namespace {

void registerBenchmarks() {
    executor::registerTaskStatsBenchmarks();
    executor::registerOneShotBenchmarks();
    executor::registerTimeoutBenchmarks();
}

}  // namespace

benchgate::Suite benchgate::describeSuite() {
    return {.name = "executor",
            .variant = std::string{executor::taskableVariant()},
            .registerBenchmarks = registerBenchmarks};
}
