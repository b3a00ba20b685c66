// SPDX-License-Identifier: Apache-2.0
/// Registration of benchmarks whose answer is checked against a reference before it is timed.
#pragma once

#include <benchmark/benchmark.h>

#include <concepts>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "harness/pinning.h"

namespace benchgate {

/// The difference from the reference; nothing if the answer is right.
using Mismatch = std::optional<std::string>;

/// Returns nothing if the two numbers are equal, else `what: <actual> instead of <expected>`. Numbers of different
/// types are compared by value; a bool counts as 0 or 1.
template <std::integral Expected, std::integral Actual>
Mismatch compare(const std::string& what, Expected expected, Actual actual) {
    // The plus turns bool and the character types into numbers, because the functions below do not accept them.
    if (std::cmp_equal(+expected, +actual)) {
        return std::nullopt;
    }
    return what + ": " + std::to_string(+actual) + " instead of " + std::to_string(+expected);
}

/// Returns the first mismatch, so that a check can list everything that it compares.
Mismatch firstOf(std::initializer_list<Mismatch> mismatches);

/// A function that runs the variant once and compares its answer with a reference, for a number of benchmark threads.
using Check = std::function<Mismatch(int threads)>;

/// A check with its results: it runs once for each number of threads, on the first thread that asks.
class CheckedAnswer {
   public:
    explicit CheckedAnswer(Check check) : check_{std::move(check)} {}

    /// Returns the check's result for this number of threads. If the check throws, the exception's text is the
    /// mismatch.
    Mismatch mismatch(int threads);

   private:
    [[nodiscard]] Mismatch runCheck(int threads) const;

    Check check_;
    std::mutex mutex_;
    std::map<int, Mismatch> known_;
};

/// Turns the row into an error row without times. In a loop, `break` after it.
void rejectTime(benchmark::State& state, const std::string& reason);

/// The owner of the world that the threads of one run share. Google Benchmark calls open() on the main thread before
/// the first thread starts, and close() after the last one has ended, so that no thread sees a half-built world.
///
/// A suite declares an owner beside the body that uses it, as a variable with static storage: Setup() takes a plain
/// function, which cannot reach anything else. Benchmarks can share an owner, because they run one after the other.
template <typename SharedWorld>
class WorldOwner {
   public:
    using World = SharedWorld;

    void open(const benchmark::State& state) { world_ = std::make_unique<World>(state); }
    void close() { world_.reset(); }
    /// Must be called only between open() and close().
    World& world() { return *world_; }

   private:
    std::unique_ptr<World> world_;
};

/// Google Benchmark's handle of a registered benchmark; its namespace differs between versions.
using Registered =
    std::remove_pointer_t<decltype(benchmark::RegisterBenchmark("", std::declval<void (*)(benchmark::State&)>()))>;

/// The body of a benchmark, which gets the owner's world.
template <auto& owner>
using Body = void (*)(benchmark::State&, typename std::remove_reference_t<decltype(owner)>::World&);

/// Registers `body` as benchmark `name`; `owner` holds the world during each run. Before the timed loop, each thread
/// gets the result of the check and is pinned to a CPU of its own. The caller sets arguments, thread counts and units
/// on the returned handle.
template <auto& owner>
Registered* registerChecked(const std::string& name, Check check, Body<owner> body) {
    auto answer = std::make_shared<CheckedAnswer>(std::move(check));
    auto* registered = benchmark::RegisterBenchmark(name.c_str(), [answer, body](benchmark::State& state) {
        if (const Mismatch mismatch = answer->mismatch(state.threads())) {
            rejectTime(state, *mismatch);
            return;
        }
        const ScopedPin pin{cpuForThread(state.thread_index())};
        body(state, owner.world());
    });
    return registered->Setup([](const benchmark::State& state) { owner.open(state); })
        ->Teardown([](const benchmark::State& /*state*/) { owner.close(); });
}

}  // namespace benchgate
