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

/// The world that the threads of one benchmark share. It is built and destroyed on the main thread, outside of the
/// timed loop, so that no thread can see it half made. One benchmark runs at a time, hence one world per type.
template <typename World>
class Stage {
   public:
    static void open(const benchmark::State& state) { slot() = std::make_unique<World>(state); }
    static void close(const benchmark::State& /*state*/) { slot().reset(); }
    static World& world() { return *slot(); }

   private:
    static std::unique_ptr<World>& slot() {
        static std::unique_ptr<World> world;
        return world;
    }
};

/// The library's handle of a registered benchmark, whose namespace differs between its versions.
using Registered =
    std::remove_pointer_t<decltype(benchmark::RegisterBenchmark("", std::declval<void (*)(benchmark::State&)>()))>;

/// Registers `body` as benchmark `name`. Before the timed loop, each thread sees the answer checked and is pinned to
/// a CPU of its own. Arguments, thread counts and units are set on the returned handle.
template <typename World>
Registered* registerChecked(const std::string& name, Check check, void (*body)(benchmark::State&, World&)) {
    auto answer = std::make_shared<CheckedAnswer>(std::move(check));
    auto* registered = benchmark::RegisterBenchmark(name.c_str(), [answer, body](benchmark::State& state) {
        if (const Mismatch mismatch = answer->mismatch(state.threads())) {
            rejectTime(state, *mismatch);
            return;
        }
        const ScopedPin pin{cpuForThread(state.thread_index())};
        body(state, Stage<World>::world());
    });
    return registered->Setup(&Stage<World>::open)->Teardown(&Stage<World>::close);
}

}  // namespace benchgate
