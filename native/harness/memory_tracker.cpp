// SPDX-License-Identifier: Apache-2.0
#include "harness/memory_tracker.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

namespace benchgate {
namespace {

// Every access is relaxed: if the tracker ordered threads that the program itself does not order, it would hide their
// races from ThreadSanitizer.
struct Counters {
    std::atomic<std::int64_t> current{0};
    std::atomic<std::int64_t> peak{0};
    std::atomic<std::int64_t> allocations{0};
    std::atomic<std::int64_t> total{0};
};

// Initialised before any other object of the program.
constinit Counters counters;

void countAllocation(std::size_t size) noexcept {
    const auto bytes = static_cast<std::int64_t>(size);
    // The thread that makes `current` grow offers each new value to the peak, so none can be missed.
    const std::int64_t grown = counters.current.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    std::int64_t peak = counters.peak.load(std::memory_order_relaxed);
    while (grown > peak && !counters.peak.compare_exchange_weak(peak, grown, std::memory_order_relaxed)) {
    }
    counters.allocations.fetch_add(1, std::memory_order_relaxed);
    counters.total.fetch_add(bytes, std::memory_order_relaxed);
}

// A block is a header followed by the caller's part. The header is as long as the alignment, and its last bytes hold
// the requested size. So `delete` can read the size, and finds the start of the block if it knows the alignment.
constexpr std::size_t defaultAlignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
static_assert(defaultAlignment >= sizeof(std::size_t));

constexpr std::size_t headerOf(std::align_val_t alignment) noexcept {
    return std::max(static_cast<std::size_t>(alignment), defaultAlignment);
}

/// Returns a block whose caller's part has `size` bytes, or nullptr if there is no memory for it.
void* makeBlock(std::size_t size, std::size_t header) noexcept {
    if (size > std::numeric_limits<std::size_t>::max() - header) {
        return nullptr;
    }
    void* block = nullptr;
    // At least one byte: a leak checker takes a block for lost if the only pointer to it points past its end.
    if (posix_memalign(&block, header, header + std::max<std::size_t>(size, 1)) != 0) {
        return nullptr;
    }
    auto* const user = static_cast<std::byte*>(block) + header;
    std::memcpy(user - sizeof(size), &size, sizeof(size));
    countAllocation(size);
    return user;
}

void* allocate(std::size_t size, std::align_val_t alignment = {}) {
    for (;;) {
        if (void* const user = makeBlock(size, headerOf(alignment))) {
            return user;
        }
        const std::new_handler handler = std::get_new_handler();
        if (handler == nullptr) {
            throw std::bad_alloc{};
        }
        handler();
    }
}

void* allocateOrNull(std::size_t size, std::align_val_t alignment = {}) noexcept {
    try {
        return allocate(size, alignment);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void release(void* user, std::align_val_t alignment = {}) noexcept {
    if (user == nullptr) {
        return;
    }
    auto* const bytes = static_cast<std::byte*>(user);
    std::size_t size = 0;
    std::memcpy(&size, bytes - sizeof(size), sizeof(size));
    counters.current.fetch_sub(static_cast<std::int64_t>(size), std::memory_order_relaxed);
    std::free(bytes - headerOf(alignment));  // NOLINT(cppcoreguidelines-no-malloc): the heap below `operator new`
}

}  // namespace

HeapUse heapUse() {
    return {.current = counters.current.load(std::memory_order_relaxed),
            .peak = counters.peak.load(std::memory_order_relaxed),
            .allocations = counters.allocations.load(std::memory_order_relaxed),
            .total = counters.total.load(std::memory_order_relaxed)};
}

void restartPeak() { counters.peak.store(counters.current.load(std::memory_order_relaxed), std::memory_order_relaxed); }

}  // namespace benchgate

using benchgate::allocate;
using benchgate::allocateOrNull;
using benchgate::release;
using std::align_val_t;
using std::nothrow_t;
using std::size_t;

void* operator new(size_t size) { return allocate(size); }
void* operator new[](size_t size) { return allocate(size); }
void* operator new(size_t size, align_val_t alignment) { return allocate(size, alignment); }
void* operator new[](size_t size, align_val_t alignment) { return allocate(size, alignment); }
void* operator new(size_t size, const nothrow_t& /*tag*/) noexcept { return allocateOrNull(size); }
void* operator new[](size_t size, const nothrow_t& /*tag*/) noexcept { return allocateOrNull(size); }
void* operator new(size_t size, align_val_t alignment, const nothrow_t& /*tag*/) noexcept {
    return allocateOrNull(size, alignment);
}
void* operator new[](size_t size, align_val_t alignment, const nothrow_t& /*tag*/) noexcept {
    return allocateOrNull(size, alignment);
}

void operator delete(void* user) noexcept { release(user); }
void operator delete[](void* user) noexcept { release(user); }
void operator delete(void* user, size_t /*size*/) noexcept { release(user); }
void operator delete[](void* user, size_t /*size*/) noexcept { release(user); }
void operator delete(void* user, align_val_t alignment) noexcept { release(user, alignment); }
void operator delete[](void* user, align_val_t alignment) noexcept { release(user, alignment); }
void operator delete(void* user, size_t /*size*/, align_val_t alignment) noexcept { release(user, alignment); }
void operator delete[](void* user, size_t /*size*/, align_val_t alignment) noexcept { release(user, alignment); }
void operator delete(void* user, const nothrow_t& /*tag*/) noexcept { release(user); }
void operator delete[](void* user, const nothrow_t& /*tag*/) noexcept { release(user); }
void operator delete(void* user, align_val_t alignment, const nothrow_t& /*tag*/) noexcept { release(user, alignment); }
void operator delete[](void* user, align_val_t alignment, const nothrow_t& /*tag*/) noexcept {
    release(user, alignment);
}
