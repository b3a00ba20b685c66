#include <benchmark/benchmark.h>
#include <fcntl.h>

#include <algorithm>

#include "library.h"

using lib::Word, lib::Words;

// Numbers from 1; beside a function, `rounds` of a checksum keep a planted slow-down small.
static Words numbers(std::size_t count, Word below, Word state = 1) {
    Words found(count);
    for (Word& each : found) each = 1 + (state = lib::checksum(state, 3)) / 2 % below;
    return found;
}

static void timed(const char* name, int rounds, auto work) {
    benchmark::RegisterBenchmark(name, [=](benchmark::State& state) mutable {
        for (auto _ : state) {
            benchmark::DoNotOptimize(work());
            benchmark::DoNotOptimize(lib::checksum(1, rounds));
            benchmark::ClobberMemory();
        }
    });
}

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    const Words keys = numbers(500, ~Word{});
    // Too many for a processor to learn the branches by heart.
    Words sorted = numbers(100000, 1U << 30U), others = numbers(100000, 1U << 30U, 7);
    const Words few = numbers(20000, 1000), sought = numbers(20000, 1U << 30U, 9);
    std::sort(sorted.begin(), sorted.end());
    std::sort(others.begin(), others.end());
    const std::string text = lib::build(numbers(2000, ~Word{})), some = text.substr(0, 4000);
    lib::fill_table(keys);
    lib::fill_tree(keys);
    const int file = open("/dev/null", O_WRONLY);
    timed("LookUp", 3000, [=] { return lib::look_up(keys); });
    timed("Sort", 20000, [=, w = keys]() mutable { w = keys; lib::sort_words(w); return w[0]; });
    timed("Merge", 500000, [=, w = Words(100000)]() mutable { lib::merge_words(sorted, others, w); return w[9]; });
    timed("Filter", 20000, [=, w = Words(20001)]() mutable { return lib::keep_small(few, 40, w); });
    timed("Search", 4000000, [=] { return lib::search(sorted, sought); });
    timed("Parse", 10000, [=] { return lib::parse(some); });
    timed("Build", 0, [w = numbers(50, ~Word{})] { return lib::build(w).size(); });
    timed("Write", 5000, [=] { lib::write_all(file, text); return 0; });
    timed("Histogram", 60000, [=, c = std::array<Word, 256>{}]() mutable { lib::count_bytes(some, c); return c[48]; });
    timed("Find", 0, [=] { return lib::find_all(keys); });
    timed("Walk", 30000, [] { return lib::walk(); });
    timed("Ring", 10000, [=] { return lib::pass_through(keys); });
    timed("Bits", 4000, [=] { return lib::count_bits(keys); });
    timed("Matrix", 20000, [c = std::vector<double>(16384, 1.0)] { return lib::sum_matrix(c, 128); });
    timed("Lru", 12000, [k = numbers(1000, 400)] { return lib::get_all(k, 300); });
    benchmark::RunSpecifiedBenchmarks();
}
