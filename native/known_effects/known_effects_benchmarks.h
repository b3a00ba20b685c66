// SPDX-License-Identifier: Apache-2.0
/// The registration of this suite's benchmarks, one function per source.
#pragma once

namespace known_effects {

void registerComputingBenchmarks();
void registerMemoryBenchmarks();
void registerHeapBenchmarks();
void registerLookupBenchmarks();
void registerTextBenchmarks();
void registerSystemBenchmarks();
void registerContentionBenchmarks();

}  // namespace known_effects
