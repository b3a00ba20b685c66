// SPDX-License-Identifier: Apache-2.0
#include "harness/checked_benchmark.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace benchgate {
namespace {

/// A world that counts how often it is built, used and destroyed.
struct Counted {
    explicit Counted(const benchmark::State& state) : threads{state.threads()} {
        ++alive;
        ++built;
    }
    ~Counted() { --alive; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    Counted(Counted&&) = delete;
    Counted& operator=(Counted&&) = delete;

    int threads;
    std::atomic<int> bodies{0};

    inline static int alive = 0;
    inline static int built = 0;
    inline static int timedBodies = 0;
};

constinit WorldOwner<Counted> countedOwner;

Mismatch agree(int /*threads*/) { return std::nullopt; }

Mismatch disagree(int threads) { return "17 instead of " + std::to_string(threads); }

Mismatch explode(int /*threads*/) { throw std::runtime_error{"no such file"}; }

void spin(benchmark::State& state, Counted& world) {
    ++world.bodies;
    for ([[maybe_unused]] auto _ : state) {
        benchmark::DoNotOptimize(world.threads);
    }
    if (state.thread_index() == 0) {
        ++Counted::timedBodies;
    }
}

void failAfterTheLoop(benchmark::State& state, Counted& world) {
    spin(state, world);
    if (state.thread_index() == 0) {
        rejectTime(state, "lost 1 item");
    }
}

/// Runs the benchmarks that a test registers. run() returns the result as JSON.
class CheckedBenchmarkTest : public testing::Test {
   protected:
    void SetUp() override {
        Counted::built = 0;
        Counted::timedBodies = 0;
    }
    void TearDown() override { benchmark::ClearRegisteredBenchmarks(); }

    static std::string run() {
        std::ostringstream out;
        benchmark::JSONReporter reporter;
        reporter.SetOutputStream(&out);
        reporter.SetErrorStream(&out);
        benchmark::RunSpecifiedBenchmarks(&reporter);
        return out.str();
    }
};

TEST_F(CheckedBenchmarkTest, ARightAnswerIsTimed) {
    registerChecked<countedOwner>("Right", agree, spin)->Iterations(10);

    const std::string result = run();

    EXPECT_EQ(Counted::timedBodies, 1);
    EXPECT_EQ(result.find("error_occurred"), std::string::npos);
}

TEST_F(CheckedBenchmarkTest, AWrongAnswerIsAnErrorRowAndNeverTimed) {
    registerChecked<countedOwner>("Wrong", disagree, spin)->Iterations(10);

    const std::string result = run();

    EXPECT_EQ(Counted::timedBodies, 0);
    EXPECT_NE(result.find("\"error_occurred\": true"), std::string::npos);
    EXPECT_NE(result.find("17 instead of 1"), std::string::npos);
}

TEST_F(CheckedBenchmarkTest, AWrongAnswerStopsEveryThread) {
    registerChecked<countedOwner>("Wrong", disagree, spin)->Threads(4)->Iterations(10);

    EXPECT_NE(run().find("17 instead of 4"), std::string::npos);
    EXPECT_EQ(Counted::timedBodies, 0);
}

TEST_F(CheckedBenchmarkTest, ACheckThatThrowsIsAWrongAnswer) {
    registerChecked<countedOwner>("Throws", explode, spin)->Iterations(10);

    EXPECT_NE(run().find("the check failed: no such file"), std::string::npos);
    EXPECT_EQ(Counted::timedBodies, 0);
}

TEST_F(CheckedBenchmarkTest, ATimeCanStillBeRejectedAfterTheLoop) {
    registerChecked<countedOwner>("Lossy", agree, failAfterTheLoop)->Threads(2)->Iterations(10);

    EXPECT_NE(run().find("lost 1 item"), std::string::npos);
}

TEST_F(CheckedBenchmarkTest, EachThreadRunsOnItsOwnCpu) {
    if (!probePinning().isPermitted) {
        GTEST_SKIP() << "this system does not let a thread choose its CPU";
    }
    registerChecked<countedOwner>("Pinned", agree,
                                  [](benchmark::State& state, Counted& world) {
                                      spin(state, world);
                                      if (sched_getcpu() != cpuForThread(state.thread_index())) {
                                          rejectTime(state, "ran on another CPU");
                                      }
                                  })
        ->Threads(3)
        ->Iterations(10);

    EXPECT_EQ(run().find("error_occurred"), std::string::npos);
}

TEST_F(CheckedBenchmarkTest, TheWorldKnowsTheThreadsAndIsDestroyed) {
    registerChecked<countedOwner>("World", agree,
                                  [](benchmark::State& state, Counted& world) {
                                      spin(state, world);
                                      if (world.threads != state.threads()) {
                                          rejectTime(state, "the world was built for other threads");
                                      }
                                  })
        ->Threads(3)
        ->Iterations(10);

    EXPECT_EQ(run().find("error_occurred"), std::string::npos);
    EXPECT_GE(Counted::built, 1);
    EXPECT_EQ(Counted::alive, 0);
}

TEST(MismatchTest, EqualNumbersAreNoMismatch) { EXPECT_EQ(compare("items", 3, 3), std::nullopt); }

TEST(MismatchTest, ADifferenceNamesBothNumbers) {
    EXPECT_EQ(compare("items", 3, 2), Mismatch{"items: 2 instead of 3"});
}

TEST(MismatchTest, NumbersOfDifferentTypesAreComparedByValue) {
    EXPECT_EQ(compare("items", 3, std::uint64_t{3}), std::nullopt);
    EXPECT_EQ(compare("items", -1, std::numeric_limits<std::uint64_t>::max()),
              Mismatch{"items: 18446744073709551615 instead of -1"});
    EXPECT_EQ(compare("is done", true, false), Mismatch{"is done: 0 instead of 1"});
}

TEST(MismatchTest, TheFirstOfSeveralIsReturned) {
    EXPECT_EQ(firstOf({std::nullopt, Mismatch{"one"}, Mismatch{"two"}}), Mismatch{"one"});
    EXPECT_EQ(firstOf({std::nullopt, std::nullopt}), std::nullopt);
}

TEST(CheckedAnswerTest, ChecksOncePerNumberOfThreads) {
    int calls = 0;
    CheckedAnswer answer{[&calls](int /*threads*/) -> Mismatch {
        ++calls;
        return std::nullopt;
    }};

    answer.mismatch(1);
    answer.mismatch(1);
    answer.mismatch(2);

    EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace benchgate
