/// Counts the bytes that the program asked for on the heap, exactly: current and peak.
///
/// Linking this library (`benchgate_memory`) replaces the global operators new and delete of the whole program. Counted
/// are the bytes requested, not what an allocator rounds them up to, so that the numbers are the same on every system.
/// What is taken from malloc() directly is not seen.
///
/// A suite uses either counters of its own, from restartPeak() and heapUse(), or reportHeapUse(), which restarts the
/// peak as well.
#pragma once

#include <cstdint>

namespace benchgate {

struct HeapUse {
    /// Bytes requested and not yet freed.
    std::int64_t current = 0;
    /// The largest `current` since the last restartPeak(); never missed, however many threads allocate.
    std::int64_t peak = 0;
    /// Allocations since the program started.
    std::int64_t allocations = 0;
    /// Bytes requested since the program started, freed or not.
    std::int64_t total = 0;
};

/// The numbers belong together if no other thread allocates meanwhile.
HeapUse heapUse();

/// Lets the peak begin anew at the current use. No other thread should allocate meanwhile.
void restartPeak();

/// Has Google Benchmark report allocations and peak bytes of every benchmark of this program. Call it when benchmarks
/// are registered. The library runs each benchmark once more for it, up to 16 iterations on one thread alone: not for a
/// body whose threads wait for each other. The numbers are relative to the start of that run and include the world and
/// the little that the library allocates. Before version 1.9.2 it garbles the bytes of all but the last repetition.
void reportHeapUse();

}  // namespace benchgate
