// SPDX-License-Identifier: Apache-2.0
/// The registration of this suite's benchmarks, one function per source.
#pragma once

#include "harness/checked_benchmark.h"

namespace hash_table {

void registerTableBenchmarks();
void registerStatisticsBenchmarks();

/// Sets the benchmark to run with one thread, and with one per CPU that the process may use; with as many iterations as
/// a thread has items.
void setThreads(benchgate::Registered* registered);

}  // namespace hash_table
