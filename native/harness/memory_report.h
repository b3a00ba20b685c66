// SPDX-License-Identifier: Apache-2.0
/// Has Google Benchmark report what each benchmark needs of the heap.
#pragma once

namespace benchgate {

/// Adds allocations and peak bytes to the row of every benchmark of this program. Call it when benchmarks are
/// registered. The library runs each benchmark once more for it, up to 16 iterations on one thread alone: not for a
/// body whose threads wait for each other, nor for one that calls restartPeak(). The numbers are relative to the start
/// of that run and include the world and the little that the library allocates. Before version 1.9.2 the library
/// garbles the bytes of all but the last repetition.
void reportHeapUse();

}  // namespace benchgate
