// SPDX-License-Identifier: Apache-2.0
#include "harness/memory_tracker.h"

#include <benchmark/benchmark.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

// GCC declares these by default, Clang only with an option. In the unit of ./lint, memory_tracker.cpp defines them.
// NOLINTBEGIN(readability-redundant-declaration,readability-inconsistent-declaration-parameter-name)
void operator delete(void* block, std::size_t size) noexcept;
void operator delete[](void* block, std::size_t size) noexcept;
void operator delete(void* block, std::size_t size, std::align_val_t alignment) noexcept;
void operator delete[](void* block, std::size_t size, std::align_val_t alignment) noexcept;
// NOLINTEND(readability-redundant-declaration,readability-inconsistent-declaration-parameter-name)

namespace benchgate {
namespace {

// Most tests call the operators directly, because a compiler may remove a new-expression, but not a call.

constexpr std::align_val_t wide{256};

/// An operator new and the operator delete that frees its blocks.
struct Form {
    std::string name;
    void* (*allocate)(std::size_t size);
    void (*release)(void* block, std::size_t size);
    std::size_t alignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
};

void* plain(std::size_t size) { return ::operator new(size); }
void* array(std::size_t size) { return ::operator new[](size); }
void* plainOrNull(std::size_t size) { return ::operator new(size, std::nothrow); }
void* arrayOrNull(std::size_t size) { return ::operator new[](size, std::nothrow); }
void* aligned(std::size_t size) { return ::operator new(size, wide); }
void* alignedArray(std::size_t size) { return ::operator new[](size, wide); }
void* alignedOrNull(std::size_t size) { return ::operator new(size, wide, std::nothrow); }
void* alignedArrayOrNull(std::size_t size) { return ::operator new[](size, wide, std::nothrow); }

void unsizedDelete(void* block, std::size_t /*size*/) { ::operator delete(block); }
void sizedDelete(void* block, std::size_t size) { ::operator delete(block, size); }
void nothrowDelete(void* block, std::size_t /*size*/) { ::operator delete(block, std::nothrow); }
void unsizedArrayDelete(void* block, std::size_t /*size*/) { ::operator delete[](block); }
void sizedArrayDelete(void* block, std::size_t size) { ::operator delete[](block, size); }
void nothrowArrayDelete(void* block, std::size_t /*size*/) { ::operator delete[](block, std::nothrow); }
void alignedDelete(void* block, std::size_t /*size*/) { ::operator delete(block, wide); }
void sizedAlignedDelete(void* block, std::size_t size) { ::operator delete(block, size, wide); }
void nothrowAlignedDelete(void* block, std::size_t /*size*/) { ::operator delete(block, wide, std::nothrow); }
void alignedArrayDelete(void* block, std::size_t /*size*/) { ::operator delete[](block, wide); }
void sizedAlignedArrayDelete(void* block, std::size_t size) { ::operator delete[](block, size, wide); }
void nothrowAlignedArrayDelete(void* block, std::size_t /*size*/) { ::operator delete[](block, wide, std::nothrow); }

const std::vector<Form> forms{
    {"NewUnsizedDelete", plain, unsizedDelete},
    {"NewSizedDelete", plain, sizedDelete},
    {"NothrowNewNothrowDelete", plainOrNull, nothrowDelete},
    {"NothrowNewUnsizedDelete", plainOrNull, unsizedDelete},
    {"ArrayNewUnsizedDelete", array, unsizedArrayDelete},
    {"ArrayNewSizedDelete", array, sizedArrayDelete},
    {"NothrowArrayNewNothrowDelete", arrayOrNull, nothrowArrayDelete},
    {"AlignedNewUnsizedDelete", aligned, alignedDelete, 256},
    {"AlignedNewSizedDelete", aligned, sizedAlignedDelete, 256},
    {"NothrowAlignedNewNothrowDelete", alignedOrNull, nothrowAlignedDelete, 256},
    {"AlignedArrayNewUnsizedDelete", alignedArray, alignedArrayDelete, 256},
    {"AlignedArrayNewSizedDelete", alignedArray, sizedAlignedArrayDelete, 256},
    {"NothrowAlignedArrayNewNothrowDelete", alignedArrayOrNull, nothrowAlignedArrayDelete, 256},
};

class OperatorTest : public testing::TestWithParam<Form> {};

INSTANTIATE_TEST_SUITE_P(Operators, OperatorTest, testing::ValuesIn(forms),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(OperatorTest, CountsTheRequestedBytesUntilTheyAreFreed) {
    for (const std::size_t size : {0UL, 1UL, 7UL, 16UL, 1000UL, 100'000UL}) {
        const HeapUse before = heapUse();
        void* const block = GetParam().allocate(size);
        const HeapUse held = heapUse();
        GetParam().release(block, size);
        const HeapUse after = heapUse();

        EXPECT_EQ(held.current - before.current, static_cast<std::int64_t>(size));
        EXPECT_EQ(held.total - before.total, static_cast<std::int64_t>(size));
        EXPECT_EQ(held.allocations - before.allocations, 1);
        EXPECT_EQ(after.current, before.current);
        EXPECT_EQ(after.total, held.total);
        EXPECT_EQ(after.allocations, held.allocations);
    }
}

TEST_P(OperatorTest, GivesMemoryThatIsAlignedAndCanBeWrittenToItsEnd) {
    constexpr std::size_t size = 333;
    void* const block = GetParam().allocate(size);
    void* aligned = block;
    std::size_t space = size;
    const bool isAligned = std::align(GetParam().alignment, 1, aligned, space) != nullptr && aligned == block;
    std::fill_n(static_cast<std::byte*>(block), size, std::byte{0xff});
    const std::int64_t held = heapUse().current;
    GetParam().release(block, size);

    EXPECT_TRUE(isAligned);
    EXPECT_EQ(held - heapUse().current, static_cast<std::int64_t>(size));
}

// Not a constant, because the compiler would reject the call.
std::size_t moreThanAvailable() {
    volatile std::size_t size = std::numeric_limits<std::size_t>::max() - 8;
    return size;
}

TEST_P(OperatorTest, CountsNothingWhenThereIsNoMemory) {
    const HeapUse before = heapUse();
    void* block = nullptr;
    try {
        block = GetParam().allocate(moreThanAvailable());
    } catch (const std::bad_alloc&) {
        block = nullptr;
    }
    const HeapUse after = heapUse();

    EXPECT_EQ(block, nullptr);
    EXPECT_EQ(after.current, before.current);
    EXPECT_EQ(after.total, before.total);
    EXPECT_EQ(after.allocations, before.allocations);
}

TEST(MemoryTrackerTest, TheNewHandlerIsCalledBeforeAnAllocationFails) {
    static int asked = 0;
    asked = 0;
    std::set_new_handler([] {
        if (++asked == 3) {
            std::set_new_handler(nullptr);
        }
    });

    EXPECT_THROW(plain(moreThanAvailable()), std::bad_alloc);
    EXPECT_EQ(asked, 3);
}

TEST(MemoryTrackerTest, DeletingNothingCountsNothing) {
    const std::int64_t before = heapUse().current;
    void* nothing = nullptr;
    ::operator delete(nothing);

    EXPECT_EQ(heapUse().current, before);
}

TEST(MemoryTrackerTest, ContainersAndObjectsAreCounted) {
    struct alignas(128) Wide {
        std::array<char, 128> bytes;
    };
    const std::int64_t before = heapUse().current;
    std::vector<char> chars;
    chars.reserve(1000);
    benchmark::DoNotOptimize(chars.data());
    auto object = std::make_unique<Wide>();
    benchmark::DoNotOptimize(object.get());
    const std::int64_t held = heapUse().current;

    EXPECT_EQ(held - before, 1000 + 128);
}

TEST(MemoryTrackerTest, ThePeakIsTheMostThatWasHeldSinceItsRestart) {
    restartPeak();
    const std::int64_t base = heapUse().current;
    void* const first = plain(1000);
    void* const second = plain(500);
    unsizedDelete(first, 1000);
    void* const third = plain(700);
    const std::int64_t peak = heapUse().peak - base;
    restartPeak();
    const std::int64_t restarted = heapUse().peak - base;
    unsizedDelete(second, 500);
    unsizedDelete(third, 700);

    EXPECT_EQ(peak, 1500);
    EXPECT_EQ(restarted, 1200);
}

/// Runs `turn(index)` on all threads at the same time. Neither `base` nor `end` includes the memory of the threads
/// themselves.
template <typename Turn>
void runTogether(int threads, HeapUse& base, HeapUse& end, Turn turn) {
    int phase = 0;
    // The last thread to arrive runs this, while all others wait.
    std::barrier together{threads, [&phase, &base, &end]() noexcept {
                              if (phase++ == 0) {
                                  restartPeak();
                                  base = heapUse();
                              } else {
                                  end = heapUse();
                              }
                          }};
    // Reserved, because otherwise it would grow while the first threads already run.
    std::vector<std::thread> running;
    running.reserve(static_cast<std::size_t>(threads));
    for (int index = 0; index < threads; ++index) {
        running.emplace_back([&together, &turn, index] {
            together.arrive_and_wait();
            turn(index);
            together.arrive_and_wait();
        });
    }
    for (std::thread& thread : running) {
        thread.join();
    }
}

TEST(MemoryTrackerTest, ThePeakOfThreadsThatHoldTogetherIsTheirSum) {
    std::barrier allHold{4};
    HeapUse base;
    HeapUse end;
    runTogether(4, base, end, [&allHold](int index) {
        const std::size_t size = 1000U * (static_cast<std::size_t>(index) + 1);
        void* const block = plain(size);
        allHold.arrive_and_wait();
        unsizedDelete(block, size);
        allHold.arrive_and_wait();
        unsizedDelete(plain(500), 500);
    });

    EXPECT_EQ(end.peak - base.current, 10'000);
    EXPECT_EQ(end.current, base.current);
    EXPECT_EQ(end.total - base.total, 12'000);
    EXPECT_EQ(end.allocations - base.allocations, 8);
}

TEST(MemoryTrackerTest, ThePeakOfThreadsThatHoldInTurnIsTheLargest) {
    std::barrier nextTurn{4};
    HeapUse base;
    HeapUse end;
    runTogether(4, base, end, [&nextTurn](int index) {
        for (int turn = 0; turn < 4; ++turn) {
            if (turn == index) {
                const std::size_t size = 1000U * (static_cast<std::size_t>(index) + 1);
                unsizedDelete(plain(size), size);
            }
            nextTurn.arrive_and_wait();
        }
    });

    EXPECT_EQ(end.peak - base.current, 4000);
}

TEST(MemoryTrackerTest, AThreadMayFreeMemoryOfAnother) {
    std::array<void*, 2> blocks{};
    std::barrier exchange{2};
    HeapUse base;
    HeapUse end;
    runTogether(2, base, end, [&blocks, &exchange](int index) {
        blocks.at(static_cast<std::size_t>(index)) = plain(100);
        exchange.arrive_and_wait();
        unsizedDelete(blocks.at(static_cast<std::size_t>(1 - index)), 100);
    });

    EXPECT_EQ(end.peak - base.current, 200);
    EXPECT_EQ(end.current, base.current);
}

TEST(MemoryTrackerTest, NothingIsLostWhenThreadsAllocateAtWill) {
    constexpr int rounds = 20'000;
    HeapUse base;
    HeapUse end;
    runTogether(4, base, end, [](int /*index*/) {
        for (int round = 0; round < rounds; ++round) {
            unsizedDelete(plain(16), 16);
        }
    });

    EXPECT_EQ(end.current, base.current);
    EXPECT_EQ(end.allocations - base.allocations, 4 * rounds);
    EXPECT_GE(end.peak - base.current, 16);
    EXPECT_LE(end.peak - base.current, 4 * 16);
}

}  // namespace
}  // namespace benchgate
