// SPDX-License-Identifier: Apache-2.0
#include "harness/memory_report.h"

#include <benchmark/benchmark.h>

#include "harness/memory_tracker.h"

namespace benchgate {
namespace {

/// The heap use between Start() and Stop(), relative to Start().
class HeapReport : public benchmark::MemoryManager {
   public:
    // Up to Google Benchmark 1.7 the first Stop() is pure virtual and the second one calls it; from 1.8 on only the
    // second one exists. So neither is marked `override`, and for consistency Start() is not either.
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
