// SPDX-License-Identifier: Apache-2.0
/// Two kinds of counters that many threads add to.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace hash_table {

/// A counter that adds with one instruction. An unsigned one must be the only one of its statistic; a signed one may be
/// one of several, of which only the sum has a meaning.
template <typename Integer>
class AtomicCounter {
   public:
    void add(std::int64_t delta) { value_.fetch_add(static_cast<Integer>(delta), std::memory_order_relaxed); }
    void reset() { value_.store(0, std::memory_order_relaxed); }
    [[nodiscard]] std::int64_t load() const {
        return static_cast<std::int64_t>(value_.load(std::memory_order_relaxed));
    }

   private:
    std::atomic<Integer> value_{0};
};

/// A counter that stops at zero instead of going below it. The price is a loop, which starts again whenever another
/// thread was faster.
class NonNegativeCounter {
   public:
    void add(std::int64_t delta) {
        auto seen = value_.load(std::memory_order_relaxed);
        while (!value_.compare_exchange_weak(seen, clampedSum(seen, delta), std::memory_order_relaxed)) {
        }
    }
    void reset() { value_.store(0, std::memory_order_relaxed); }
    [[nodiscard]] std::int64_t load() const {
        return static_cast<std::int64_t>(value_.load(std::memory_order_relaxed));
    }

   private:
    static std::uint64_t clampedSum(std::uint64_t value, std::int64_t delta) {
        return static_cast<std::uint64_t>(std::max<std::int64_t>(0, static_cast<std::int64_t>(value) + delta));
    }

    std::atomic<std::uint64_t> value_{0};
};

}  // namespace hash_table
