// SPDX-License-Identifier: Apache-2.0
#include "harness/memory_report.h"

#include <benchmark/benchmark.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace benchgate {
namespace {

constexpr std::int64_t mebibyte = 1 << 20;

/// Allocates some blocks and frees them, in each iteration.
void holdBlocks(benchmark::State& state, std::size_t blocks, std::int64_t size) {
    std::array<void*, 4> held{};
    for ([[maybe_unused]] auto _ : state) {
        for (std::size_t i = 0; i < blocks; ++i) {
            held.at(i) = ::operator new(static_cast<std::size_t>(size));
        }
        for (std::size_t i = 0; i < blocks; ++i) {
            ::operator delete(held.at(i));
        }
    }
}

/// Runs one benchmark of 16 iterations and reads numbers from its row. The library also allocates a little, the same
/// for every benchmark, so tests compare two of them.
class MemoryReportTest : public testing::Test {
   protected:
    void SetUp() override { reportHeapUse(); }
    void TearDown() override { benchmark::RegisterMemoryManager(nullptr); }

    template <typename Body>
    static std::string run(Body body) {
        benchmark::RegisterBenchmark("Heap", body)->Iterations(16);
        std::ostringstream out;
        benchmark::JSONReporter reporter;
        reporter.SetOutputStream(&out);
        reporter.SetErrorStream(&out);
        benchmark::RunSpecifiedBenchmarks(&reporter);
        benchmark::ClearRegisteredBenchmarks();
        return out.str();
    }

    static std::string runHolding(std::size_t blocks, std::int64_t size) {
        return run([blocks, size](benchmark::State& state) { holdBlocks(state, blocks, size); });
    }

    static double number(const std::string& json, const std::string& key) {
        const std::string label = '"' + key + "\": ";
        const std::size_t place = json.find(label);
        if (place == std::string::npos) {
            throw std::runtime_error{"no " + key + " in " + json};
        }
        return std::stod(json.substr(place + label.size()));
    }
};

TEST_F(MemoryReportTest, ARowHasTheAllocationsOfAnIteration) {
    const double one = number(runHolding(1, 100), "allocs_per_iter");
    const double three = number(runHolding(3, 100), "allocs_per_iter");

    EXPECT_EQ(three - one, 2.0);
}

TEST_F(MemoryReportTest, ARowHasThePeakToTheByte) {
    const double one = number(runHolding(1, mebibyte), "max_bytes_used");
    const double two = number(runHolding(2, mebibyte), "max_bytes_used");
    const double twoLarger = number(runHolding(2, mebibyte + 3), "max_bytes_used");

    EXPECT_EQ(two - one, mebibyte);
    EXPECT_EQ(twoLarger - two, 6.0);
}

TEST_F(MemoryReportTest, ThePeakIsRelativeToTheStart) {
    void* const before = ::operator new(static_cast<std::size_t>(10 * mebibyte));
    const double peak = number(runHolding(1, mebibyte), "max_bytes_used");
    ::operator delete(before);

    EXPECT_GE(peak, mebibyte);
    EXPECT_LT(peak, 2 * mebibyte);
}

TEST_F(MemoryReportTest, ARowHasAllBytesEverAllocated) {
    const double one = number(runHolding(1, mebibyte), "total_allocated_bytes");
    const double two = number(runHolding(2, mebibyte), "total_allocated_bytes");

    EXPECT_EQ(two - one, 16 * mebibyte);
}

TEST_F(MemoryReportTest, ARowHasTheBytesThatWereNotFreed) {
    std::vector<void*> kept;
    kept.reserve(100);
    const auto runKeeping = [&kept](std::size_t size) {
        return run([&kept, size](benchmark::State& state) {
            for ([[maybe_unused]] auto _ : state) {
            }
            kept.push_back(::operator new(size));
        });
    };
    const double less = number(runKeeping(1000), "net_heap_growth");
    const double more = number(runKeeping(3000), "net_heap_growth");
    for (void* const block : kept) {
        ::operator delete(block);
    }

    EXPECT_EQ(more - less, 2000.0);
}

}  // namespace
}  // namespace benchgate
