// SPDX-License-Identifier: Apache-2.0
/// The growth of the heap since a given start.
#pragma once

#include <algorithm>
#include <cstdint>

#include "harness/memory_tracker.h"

namespace flush_vbucket {

/// The largest growth of several rounds, each measured from its own start.
class HeapGrowth {
   public:
    void start() {
        benchgate::restartPeak();
        base_ = benchgate::heapUse().current;
    }
    void stop() { peak_ = std::max(peak_, benchgate::heapUse().peak - base_); }
    [[nodiscard]] std::int64_t peak() const { return peak_; }

   private:
    std::int64_t base_ = 0;
    std::int64_t peak_ = 0;
};

}  // namespace flush_vbucket
