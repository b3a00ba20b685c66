// SPDX-License-Identifier: Apache-2.0
/// Counts the bytes that the program asked for on the heap, exactly: current and peak.
///
/// Linking this library (`benchgate_memory`) replaces the global operators new and delete of the whole program. Counted
/// are the bytes requested, not what an allocator rounds them up to, so that the numbers are the same on every system.
/// What is taken from malloc() directly is not seen.
///
/// A suite uses either counters of its own, from restartPeak() and heapUse(), or reportHeapUse() of memory_report.h,
/// which restarts the peak as well.
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

}  // namespace benchgate
