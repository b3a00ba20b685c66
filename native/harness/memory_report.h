// SPDX-License-Identifier: Apache-2.0
/// The heap use of each benchmark, reported by Google Benchmark.
#pragma once

namespace benchgate {

/// Adds allocations and peak bytes to the row of every benchmark of this program. Call it when benchmarks are
/// registered. Google Benchmark runs each benchmark once more for this, with up to 16 iterations on a single thread. So
/// it must not be used for a body whose threads wait for each other, nor for one that calls restartPeak(). The numbers
/// are relative to the start of that run; they include the world and the little that the library itself allocates.
/// Before version 1.9.2 the library reports wrong bytes for all repetitions except the last.
void reportHeapUse();

}  // namespace benchgate
