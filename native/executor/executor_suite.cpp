// SPDX-License-Identifier: Apache-2.0
/// The suite `executor`: the cost of the tasks' owner for the pools that report to it.
#include <string>

#include "executor/executor_benchmarks.h"
#include "executor/taskable.h"
#include "harness/suite.h"

namespace executor {
namespace {

void registerBenchmarks() {
    registerTaskStatsBenchmarks();
    registerOneShotBenchmarks();
    registerTimeoutBenchmarks();
}

}  // namespace
}  // namespace executor

benchgate::Suite benchgate::describeSuite() {
    return {.name = "executor",
            .variant = std::string{executor::taskableVariant()},
            .registerBenchmarks = executor::registerBenchmarks};
}
