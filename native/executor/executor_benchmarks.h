// SPDX-License-Identifier: Apache-2.0
/// The registration of this suite's benchmarks, one function per source.
#pragma once

namespace executor {

void registerOneShotBenchmarks();
void registerTaskStatsBenchmarks();
void registerTimeoutBenchmarks();

}  // namespace executor
