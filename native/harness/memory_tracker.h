// SPDX-License-Identifier: Apache-2.0
/// An exact count of the bytes that the program requested on the heap: current and peak.
///
/// Linking this library (`benchgate_memory`) replaces the global operators new and delete of the whole program. They
/// count the bytes requested, not what an allocator rounds them up to, so the numbers are the same on every system.
/// Memory taken directly from malloc() is not counted.
///
/// A suite uses either counters of its own, from restartPeak() and heapUse(), or reportHeapUse() of memory_report.h,
/// which also restarts the peak.
#pragma once

#include <cstdint>

namespace benchgate {

struct HeapUse {
    /// Bytes requested and not yet freed.
    std::int64_t current = 0;
    /// The largest `current` since the last restartPeak(), exact however many threads allocate.
    std::int64_t peak = 0;
    /// Allocations since the program started.
    std::int64_t allocations = 0;
    /// Bytes requested since the program started, freed or not.
    std::int64_t total = 0;
};

/// Returns the current numbers. They are consistent with each other only if no other thread allocates meanwhile.
HeapUse heapUse();

/// Sets the peak to the current use. No other thread should allocate meanwhile.
void restartPeak();

}  // namespace benchgate
