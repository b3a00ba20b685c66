// SPDX-License-Identifier: Apache-2.0
/// The benchmarks of this suite, by what they spend their time on.
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
