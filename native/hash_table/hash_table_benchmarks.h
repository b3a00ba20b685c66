// SPDX-License-Identifier: Apache-2.0
/// The benchmarks of this suite, by what they measure.
#pragma once

#include "harness/checked_benchmark.h"

namespace hash_table {

void registerTableBenchmarks();
void registerStatisticsBenchmarks();

/// One thread, and one per CPU the process may use; as many iterations as a thread has items.
void setThreads(benchgate::Registered* registered);

}  // namespace hash_table
