#include <benchmark/benchmark.h>
#include <fcntl.h>

#include <algorithm>
#include <map>

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

// Only the benchmarks that need them wait for them, above all under Valgrind.
static const Words& sorted(Word state) {
    static std::map<Word, Words> known;
    Words& found = known[state];
    if (found.empty()) {
        found = numbers(100000, 1U << 30U, state);
        std::sort(found.begin(), found.end());
    }
    return found;
}

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    const Words keys = numbers(500, ~Word{});
    // Too many for a processor to learn the branches by heart.
    const Words few = numbers(20000, 1000), sought = numbers(20000, 1U << 30U, 9);
    const std::string text = lib::build(numbers(2000, ~Word{})), some = text.substr(0, 4000);
    lib::fill_table(keys);
    lib::fill_tree(keys);
    lib::fill_steps();
    const int file = open("/dev/null", O_WRONLY);
    timed("LookUp", 3000, [=] { return lib::look_up(keys); });
    timed("Sort", 20000, [=, w = keys]() mutable { w = keys; lib::sort_words(w); return w[0]; });
    timed("Merge", 500000, [=, w = Words(100000)]() mutable { lib::merge_words(sorted(1), sorted(7), w); return w[9]; });
    timed("Filter", 20000, [=, w = Words(20001)]() mutable { return lib::keep_small(few, 40, w); });
    timed("Search", 4000000, [=] { return lib::search(sorted(1), sought); });
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
    timed("ScaleAdd", 8000, [=, x = std::vector<float>(4000, 1.5F), y = std::vector<float>(4000)]() mutable { lib::scale_add(x, 0.5F, y); return y[7]; });
    timed("CountLetter", 6000, [=] { return lib::count_letter(some, '7'); });
    timed("Darken", 6000, [p = std::vector<std::uint8_t>(8000, 200)]() mutable { lib::darken(p, 1); return p[9]; });
    timed("Mix", 1200, [=, w = numbers(2000, ~Word{})] { return lib::mix_all(w, 77); });
    timed("Cells", 500, [=] { lib::hit_cells(keys); return 0; });
    timed("Marks", 1500, [=] { lib::mark_cells(keys); return 0; });
    timed("Weigh", 300, [=] { return lib::weigh(keys); });
    timed("Steps", 4000, [] { return lib::follow_steps(3000); });
    benchmark::RunSpecifiedBenchmarks();
}
