// A hundred benchmarks with one thread: ten kinds of work in five sizes, each with iterations of microseconds and of
// tens of milliseconds. Built with -DPERCENT=110, each does 10 % more work; with -DOWN_THREAD=1, a thread of the
// program computes beside them.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

const int64_t percent = PERCENT;

// Do a unit of work `percent` times, and all of that as often as the benchmark's second argument says.
template <typename Unit>
void work(benchmark::State& state, Unit unit) {
    const auto steps = percent * state.range(1);
    for (auto _ : state) {
        for (int64_t step = 0; step < steps; ++step) {
            benchmark::DoNotOptimize(unit(step));
        }
    }
}

// `Times` is how often the work of microseconds is repeated to take tens of milliseconds.
template <int64_t Times>
void sizes(benchmark::internal::Benchmark* benchmark) {
    for (int64_t times : {int64_t{1}, Times}) {
        for (int64_t size = 1; size <= 5; ++size) {
            benchmark->Args({size, times});
        }
    }
}

void Arithmetic(benchmark::State& state) {
    work(state, [&](uint64_t sum) {
        for (int64_t k = 0; k < 40 * state.range(0); ++k) {
            sum = sum * 6364136223846793005U + 1;
        }
        return sum;
    });
}

void FloatingPoint(benchmark::State& state) {
    work(state, [&](double sum) {
        for (int64_t k = 0; k < 10 * state.range(0); ++k) {
            sum = std::sqrt(sum + 1.5);
        }
        return sum;
    });
}

void Bytes(benchmark::State& state) {
    std::vector<char> from(4096 * state.range(0), 'x'), to(from.size());
    work(state, [&](int64_t) {
        std::memcpy(to.data(), from.data(), from.size());
        return to[0];
    });
}

void Sum(benchmark::State& state) {
    std::vector<int> values(512 * state.range(0), 3);
    work(state, [&](int64_t) { return std::accumulate(values.begin(), values.end(), 0); });
}

void Search(benchmark::State& state) {
    std::vector<int> values(4096);
    std::iota(values.begin(), values.end(), 0);
    work(state, [&](int64_t step) {
        int64_t found = 0;
        for (int64_t k = 0; k < 4 * state.range(0); ++k) {
            found += *std::lower_bound(values.begin(), values.end(), static_cast<int>((step + k * 37) % 4000));
        }
        return found;
    });
}

void Hash(benchmark::State& state) {
    std::unordered_map<int, int> known;
    for (int k = 0; k < 1000; ++k) {
        known[k] = k;
    }
    work(state, [&](int64_t step) {
        int64_t found = 0;
        for (int64_t k = 0; k < 8 * state.range(0); ++k) {
            found += known.find(static_cast<int>((step + k * 31) % 1000))->second;
        }
        return found;
    });
}

void Tree(benchmark::State& state) {
    std::map<int, int> known;
    for (int k = 0; k < 1000; ++k) {
        known[k] = k;
    }
    work(state, [&](int64_t step) {
        int64_t found = 0;
        for (int64_t k = 0; k < 4 * state.range(0); ++k) {
            found += known.find(static_cast<int>((step + k * 31) % 1000))->second;
        }
        return found;
    });
}

void Allocate(benchmark::State& state) {
    work(state, [&](int64_t step) {
        int64_t found = 0;
        for (int64_t k = 0; k < 4 * state.range(0); ++k) {
            auto kept = std::make_unique<int64_t>(step + k);
            benchmark::DoNotOptimize(kept.get());
            found += *kept;
        }
        return found;
    });
}

void Text(benchmark::State& state) {
    work(state, [&](int64_t step) {
        size_t length = 0;
        for (int64_t k = 0; k < 2 * state.range(0); ++k) {
            length += std::to_string(step * 1000003 + k).size();
        }
        return length;
    });
}

void Sort(benchmark::State& state) {
    std::vector<uint32_t> values(32 * state.range(0));
    work(state, [&](int64_t step) {
        uint32_t next = step + 1;
        for (auto& each : values) {
            each = next = next * 1664525 + 1013904223;
        }
        std::sort(values.begin(), values.end());
        return values[0];
    });
}

} // namespace

BENCHMARK(Arithmetic)->Apply(sizes<4000>);
BENCHMARK(FloatingPoint)->Apply(sizes<4000>);
BENCHMARK(Bytes)->Apply(sizes<60>);
BENCHMARK(Sum)->Apply(sizes<400>);
BENCHMARK(Search)->Apply(sizes<1500>);
BENCHMARK(Hash)->Apply(sizes<4000>);
BENCHMARK(Tree)->Apply(sizes<2500>);
BENCHMARK(Allocate)->Apply(sizes<2500>);
BENCHMARK(Text)->Apply(sizes<6000>);
BENCHMARK(Sort)->Apply(sizes<600>);

int main(int argc, char** argv) {
    if (OWN_THREAD) {
        std::thread([] {
            for (uint64_t sum = 1;; sum = sum * 6364136223846793005U + 1) {
                benchmark::DoNotOptimize(sum);
            }
        }).detach();
    }
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
