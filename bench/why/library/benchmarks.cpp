#include <benchmark/benchmark.h>
#include <fcntl.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>

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
    timed("Filter", 20000, [=, w = Words(20001)]() mutable { return lib::keep_small(few, 40, w); });
    timed("Search", 4000000, [=] { return lib::search(sorted(1), sought); });
    timed("Parse", 10000, [=] { return lib::parse(some); });
    timed("Build", 0, [w = numbers(50, ~Word{})] { return lib::build(w).size(); });
    timed("Write", 5000, [=] { lib::write_all(file, text); return 0; });
    timed("Histogram", 60000, [=, c = std::array<Word, 256>{}]() mutable { lib::count_bytes(some, c); return c[48]; });
    timed("Find", 0, [=] { return lib::find_all(keys); });
    timed("Ring", 10000, [=] { return lib::pass_through(keys); });
    timed("Bits", 4000, [=] { return lib::count_bits(keys); });
    timed("Matrix", 20000, [c = std::vector<double>(16384, 1.0)] { return lib::sum_matrix(c, 128); });
    timed("Lru", 12000, [k = numbers(1000, 400)] { return lib::get_all(k, 300); });
    timed("ScaleAdd", 8000, [=, x = std::vector<float>(4000, 1.5F), y = std::vector<float>(4000)]() mutable { lib::scale_add(x, 0.5F, y); return y[7]; });
    timed("CountLetter", 6000, [=] { return lib::count_letter(some, '7'); });
    timed("Darken", 6000, [p = std::vector<std::uint8_t>(8000, 200)]() mutable { lib::darken(p, 1); return p[9]; });
    timed("Cells", 500, [=] { lib::hit_cells(keys); return 0; });
    timed("Steps", 4000, [] { return lib::follow_steps(3000); });
    const Words tenants = numbers(400, 5000, 3);
    lib::fill_records(tenants);
    lib::fill_filter(sought);
    lib::fill_images(few);
    std::string article;
    for (int k = 0; k < 40; ++k) article += "plain words of a text in ASCII letters, and some M\u00FCller or caf\u00E9 too; ";
    std::vector<std::string> owners;
    for (const Word tenant : tenants) owners.push_back("tenant-of-region-" + std::to_string(tenant));
    const std::vector<std::string_view> views(owners.begin(), owners.end());
    auto log = std::make_shared<std::ofstream>("/dev/null");
    timed("Points", 3000, [=] { return lib::count_points(article); });
    timed("Upper", 170, [t = std::string(owners[0])]() mutable { lib::to_upper(t.data()); return t[0]; });
    timed("Fingerprint", 0, [=] { return lib::fingerprint(keys); });
    timed("Admit", 5500, [=] { return lib::admit(keys); });
    timed("Log", 340000, [=] { lib::log_lines(*log, keys); return 0; });
    timed("Tiers", 19500, [] { return lib::size_of_tier(3); });
    timed("Owners", 18000, [=] { return lib::size_of_owners(views); });
    timed("Reschedule", 300000, [=] { return lib::reschedule(sought); });
    timed("Rank", 250000, [m = numbers(200000, 1000), w = Words()]() mutable { w = m; return lib::rank(w, 100); });
    timed("Smooth", 0, [=] { return lib::smooth(few); });
    timed("Churn", 17000, [] { return lib::churn(500); });
    timed("Read", 21500, [=] { return lib::read_all(keys); });
    timed("Publish", 18500, [=] { lib::publish(keys); return 0; });
    timed("Sketch", 16500, [=] { lib::count_keys(keys); return 0; });
    timed("Contained", 185000, [=] { return lib::contained(sought); });
    timed("Brighten", 17000, [] { lib::brighten(); return 0; });
    timed("Correct", 21000, [from = std::vector<std::uint8_t>(8000, 90), to = std::vector<std::uint8_t>(8000)]() mutable { lib::correct(from, to); return to[9]; });
    timed("Links", 3000, [] { return lib::follow_links(3000); });
    timed("Areas", 255000, [] { return lib::area_of_all(); });
    benchmark::RunSpecifiedBenchmarks();
}
