// g++ -O3 -g vectors.cpp -lbenchmark; -DSCALAR stops the loop early, -DMOVED shifts the table.
#include <benchmark/benchmark.h>

#include <cstdint>

alignas(64) static std::uint32_t values[1024];
#ifdef MOVED
__asm__(".bss; .p2align 6; .skip 4; moved: .skip 4096; .text");
extern std::uint32_t table[1024] __asm__("moved");
#else
alignas(64) static std::uint32_t table[1024];
#endif

__attribute__((noinline)) std::uint32_t count(std::uint32_t key) {
    std::uint32_t found = 0;
    for (const std::uint32_t each : values) {
#ifdef SCALAR
        if (each > 2000 + key) break;
#endif
        found += each == key;
    }
    return found;
}

__attribute__((noinline)) std::uint32_t follow(std::uint32_t at) {
    for (int k = 0; k < 200; ++k) at = (table[at] + k) % 1024;
    return at;
}

static void BM_Toy(benchmark::State& state) {
    for (std::uint32_t k = 0; k < 1024; ++k) values[k] = table[k] = k * 149 % 1021;
    for (auto _ : state) benchmark::DoNotOptimize(count(7) + follow(3));
}
BENCHMARK(BM_Toy);
BENCHMARK_MAIN();
