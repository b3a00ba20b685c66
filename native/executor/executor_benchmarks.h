// SPDX-License-Identifier: Apache-2.0
/// The benchmarks of this suite, by what they measure.
#pragma once

namespace executor {

void registerOneShotBenchmarks();
void registerTaskStatsBenchmarks();
void registerTimeoutBenchmarks();

}  // namespace executor
