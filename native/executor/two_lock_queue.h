// SPDX-License-Identifier: Apache-2.0
/// An unbounded queue for many producers and many consumers, in which producers never wait for consumers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "executor/spin_mutex.h"

namespace executor {

/// Producers share one lock, consumers another; both use only the count of a segment's published values. One allocation
/// serves a whole segment: a value is freed by another thread than the one that added it, and with an allocation per
/// value the allocator's lock would be the busiest of all. First in, first out. Destroying the queue drops the values
/// that are left.
template <typename Value>
class TwoLockQueue {
   public:
    TwoLockQueue() = default;
    ~TwoLockQueue() {
        while (head_ != nullptr) {
            const std::unique_ptr<Segment> spent{head_};
            head_ = spent->next.load(std::memory_order_relaxed);
        }
    }
    TwoLockQueue(const TwoLockQueue&) = delete;
    TwoLockQueue& operator=(const TwoLockQueue&) = delete;
    TwoLockQueue(TwoLockQueue&&) = delete;
    TwoLockQueue& operator=(TwoLockQueue&&) = delete;

    void push(Value value) {
        const std::lock_guard lock{tailMutex_};
        if (tailIndex_ == segmentSize) {
            auto* const fresh = new Segment;
            // The full segment must not be touched after this, because the consumers may free it.
            tail_->next.store(fresh, std::memory_order_release);
            tail_ = fresh;
            tailIndex_ = 0;
        }
        tail_->values[tailIndex_] = std::move(value);
        ++tailIndex_;
        tail_->published.store(tailIndex_, std::memory_order_release);
    }

    /// Returns the oldest value, or nothing if the queue is empty.
    std::optional<Value> pop() {
        const std::lock_guard lock{headMutex_};
        if (headIndex_ == segmentSize && !moveToNextSegment()) {
            return std::nullopt;
        }
        if (headIndex_ == head_->published.load(std::memory_order_acquire)) {
            return std::nullopt;
        }
        return std::exchange(head_->values[headIndex_++], Value{});
    }

   private:
    static constexpr std::size_t segmentSize = 128;
    // The members of producers and consumers are on different cache lines.
    static constexpr std::size_t cacheLine = 64;

    struct Segment {
        std::array<Value, segmentSize> values{};
        alignas(cacheLine) std::atomic<std::size_t> published{0};
        std::atomic<Segment*> next{nullptr};
    };

    bool moveToNextSegment() {
        Segment* const next = head_->next.load(std::memory_order_acquire);
        if (next == nullptr) {
            return false;
        }
        const std::unique_ptr<Segment> spent{std::exchange(head_, next)};
        headIndex_ = 0;
        return true;
    }

    alignas(cacheLine) SpinMutex headMutex_;
    Segment* head_ = new Segment;
    std::size_t headIndex_ = 0;
    alignas(cacheLine) SpinMutex tailMutex_;
    Segment* tail_ = head_;
    std::size_t tailIndex_ = 0;
};

}  // namespace executor
