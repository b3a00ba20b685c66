// SPDX-License-Identifier: Apache-2.0
/// Memory that begins on a cache line and shares none with other allocations.
#pragma once

#include <cstddef>
#include <new>

namespace hash_table {

constexpr std::size_t cacheLine = 64;

template <typename T>
struct CacheLineAllocator {
    // The name that std::allocator_traits looks for.
    using value_type = T;  // NOLINT(readability-identifier-naming)

    T* allocate(std::size_t count) {
        return static_cast<T*>(::operator new (wholeLines(count * sizeof(T)), std::align_val_t{cacheLine}));
    }
    void deallocate(T* memory, std::size_t /*count*/) { ::operator delete (memory, std::align_val_t{cacheLine}); }
    bool operator==(const CacheLineAllocator&) const = default;

   private:
    static std::size_t wholeLines(std::size_t bytes) { return (bytes + cacheLine - 1) / cacheLine * cacheLine; }
};

}  // namespace hash_table
