// SPDX-License-Identifier: Apache-2.0
#include "harness/memory_report.h"

#include <benchmark/benchmark.h>

#include "harness/memory_tracker.h"

namespace benchgate {
namespace {

/// What the heap did between Start() and Stop(), all relative to Start().
class HeapReport : public benchmark::MemoryManager {
   public:
    // Up to 1.7 of Google Benchmark the first Stop() is pure and the second one calls it; from 1.8 on only the second
    // is there. So neither says `override`, and Start() does as they do.
    // NOLINTBEGIN(modernize-use-override,cppcoreguidelines-explicit-virtual-functions)
    virtual void Start() {
        restartPeak();
        start_ = heapUse();
    }
    virtual void Stop(Result* result) { Stop(*result); }
    virtual void Stop(Result& result) {
        const HeapUse end = heapUse();
        result.num_allocs = end.allocations - start_.allocations;
        result.max_bytes_used = end.peak - start_.current;
        result.total_allocated_bytes = end.total - start_.total;
        result.net_heap_growth = end.current - start_.current;
    }
    // NOLINTEND(modernize-use-override,cppcoreguidelines-explicit-virtual-functions)

   private:
    HeapUse start_;
};

}  // namespace

void reportHeapUse() {
    static HeapReport report;
    benchmark::RegisterMemoryManager(&report);
}

}  // namespace benchgate
