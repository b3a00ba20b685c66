// SPDX-License-Identifier: Apache-2.0
/// Registers benchmarks whose answer is checked against a reference before it is timed.
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

/// What differs from the reference, or nothing if the answer is right.
using Mismatch = std::optional<std::string>;

/// Nothing if the two numbers are equal, else `what: <actual> instead of <expected>`. Types that differ in sign or size
/// are compared by value; a bool counts as 0 or 1.
template <std::integral Expected, std::integral Actual>
Mismatch compare(const std::string& what, Expected expected, Actual actual) {
    // The plus turns bool and the character types, which neither function below accepts, into numbers.
    if (std::cmp_equal(+expected, +actual)) {
        return std::nullopt;
    }
    return what + ": " + std::to_string(+actual) + " instead of " + std::to_string(+expected);
}

/// The first that is one, so that a check can list what it compares.
Mismatch firstOf(std::initializer_list<Mismatch> mismatches);

/// Runs the variant once and compares its answer with a reference, for a number of benchmark threads.
using Check = std::function<Mismatch(int threads)>;

/// Runs a check once per number of threads, whichever thread asks first.
class CheckedAnswer {
   public:
    explicit CheckedAnswer(Check check) : check_{std::move(check)} {}

    /// A check that throws has not agreed with the reference: the exception's text is the mismatch.
    Mismatch mismatch(int threads);

   private:
    [[nodiscard]] Mismatch runCheck(int threads) const;

    Check check_;
    std::mutex mutex_;
    std::map<int, Mismatch> known_;
};

/// Makes the row an error row without times. In a loop, `break` after it.
void rejectTime(benchmark::State& state, const std::string& reason);

/// Owns the world that the threads of one run share. The world lives from open() to close(), which the library calls on
/// the main thread before the first thread starts and after the last one has ended: no thread can see it half made.
///
/// A suite declares an owner beside the body that uses it, as a variable with static storage: the library's Setup()
/// takes a plain function, which can reach nothing else. Benchmarks can share an owner, because they run one after the
/// other.
template <typename SharedWorld>
class WorldOwner {
   public:
    using World = SharedWorld;

    void open(const benchmark::State& state) { world_ = std::make_unique<World>(state); }
    void close() { world_.reset(); }
    /// Only between open() and close().
    World& world() { return *world_; }

   private:
    std::unique_ptr<World> world_;
};

/// The library's handle of a registered benchmark, whose namespace differs between its versions.
using Registered =
    std::remove_pointer_t<decltype(benchmark::RegisterBenchmark("", std::declval<void (*)(benchmark::State&)>()))>;

/// A benchmark's body, which gets the world of the given owner.
template <auto& owner>
using Body = void (*)(benchmark::State&, typename std::remove_reference_t<decltype(owner)>::World&);

/// Registers `body` as benchmark `name`, with a world that `owner` holds during each run. Before the timed loop, each
/// thread sees the answer checked and is pinned to a CPU of its own. Arguments, thread counts and units are set on the
/// returned handle.
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
