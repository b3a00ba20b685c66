// SPDX-License-Identifier: Apache-2.0
#include "harness/suite.h"

#include <benchmark/benchmark.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace benchgate {
namespace {

int& widgets() {
    static int count = 1;
    return count;
}

void setWidgets(std::string_view value) {
    if (value != "2") {
        throw std::invalid_argument{"only 2 is allowed"};
    }
    widgets() = 2;
}

void registerWidgets() {
    for (const char* const name : {"WidgetBench/Make", "WidgetBench/Break"}) {
        benchmark::RegisterBenchmark(name, [](benchmark::State& state) {
            for ([[maybe_unused]] auto _ : state) {
            }
            state.SetLabel(std::to_string(widgets()) + " widgets");
        })->Iterations(1);
    }
}

/// Runs the suite as main() would and ends the process. Must be called only in EXPECT_EXIT, which checks stderr.
[[noreturn]] void runAndExit(std::vector<std::string> arguments) {
    dup2(STDERR_FILENO, STDOUT_FILENO);
    arguments.insert(arguments.begin(), "widget_benchmark");
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) {
        argv.push_back(argument.data());
    }
    argv.push_back(nullptr);
    const Suite suite{.name = "widget",
                      .variant = "round",
                      .registerBenchmarks = registerWidgets,
                      .options = {{.name = "widgets", .set = setWidgets}},
                      .aliases = {{.shorthand = "WB/", .prefix = "WidgetBench/"}}};
    const int code = runSuite(suite, static_cast<int>(arguments.size()), argv.data());
    std::exit(code);  // NOLINT(concurrency-mt-unsafe): the process of a death test has one thread
}

const testing::ExitedWithCode success{EXIT_SUCCESS};
const testing::ExitedWithCode failure{EXIT_FAILURE};
const std::string asJson = "--benchmark_format=json";

TEST(RunSuiteDeathTest, RunsTheBenchmarksAndStampsTheSuite) {
    EXPECT_EXIT(runAndExit({asJson}), success, "\"benchgate_suite\": \"widget\"(.|\n)*/Make(.|\n)*/Break");
}

TEST(RunSuiteDeathTest, AnOptionIsSetBeforeBenchmarksAreRegisteredAndStamped) {
    EXPECT_EXIT(runAndExit({asJson, "--widgets=2"}), success, "\"benchgate_option_widgets\": \"2\"(.|\n)*2 widgets");
}

TEST(RunSuiteDeathTest, ABadValueIsAClearMessage) {
    EXPECT_EXIT(runAndExit({"--widgets=3"}), failure, "error: --widgets: only 2 is allowed\n");
}

TEST(RunSuiteDeathTest, AnUnknownFlagIsRefused) {
    EXPECT_EXIT(runAndExit({"--gadgets=3"}), failure, "unrecognized command-line flag: --gadgets=3");
}

TEST(RunSuiteDeathTest, AShorthandWorksInTheFilter) {
    EXPECT_EXIT(runAndExit({asJson, "--benchmark_filter=^WB/Ma"}), success, "\"name\": \"WidgetBench/Make");
}

TEST(RunSuiteDeathTest, AShorthandWorksInANegatedFilter) {
    EXPECT_EXIT(runAndExit({"--benchmark_list_tests", "--benchmark_filter=-WB/Ma"}), success,
                "^(warning: [^\n]*\n)?WidgetBench/Break/iterations:1\n$");
}

TEST(RunSuiteDeathTest, HelpNamesTheOptionsOfTheSuiteAndOfTheLibrary) {
    EXPECT_EXIT(runAndExit({"--help"}), success, "--widgets=<value>(.|\n)*WB/(.|\n)*--benchmark_filter=<regex>");
}

}  // namespace
}  // namespace benchgate
