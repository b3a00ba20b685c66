#include <benchmark/benchmark.h>

#include <cstdint>

// 512 KiB of constants, which stay in the file's pages: what a compiler makes of a large lookup table.
extern "C" const std::uint8_t constants[];
asm(".section .rodata\n"
    ".balign 4096\n"
    ".globl constants\n"
    "constants:\n"
    ".fill 131072, 4, 0x9e3779b9\n"
    ".text\n");

namespace {

constexpr std::uint32_t kLineBytes = 64;
constexpr std::uint32_t kLines = 512 * 1024 / kLineBytes;
constexpr std::uint32_t kStride = 97;  // odd, so that every line is read once

void BM_ConstantTable(benchmark::State& state) {
    std::uint32_t sum = 0;
    std::uint32_t line = 0;
    for (auto _ : state) {
        for (std::uint32_t i = 0; i < kLines; ++i) {
            sum += constants[line * kLineBytes];
            line = (line + kStride) % kLines;
        }
        benchmark::DoNotOptimize(sum);
    }
}

BENCHMARK(BM_ConstantTable);

}  // namespace

BENCHMARK_MAIN();
