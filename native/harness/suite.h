// SPDX-License-Identifier: Apache-2.0
/// What a suite tells the harness about itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace benchgate {

/// A command-line flag of the suite's own, given as `--name=value`.
struct Option {
    std::string name;
    /// Takes the value before benchmarks are registered; throws std::invalid_argument, saying what is allowed.
    void (*set)(std::string_view value);
    /// What it is for, in a few words for `--help`.
    std::string help = {};
};

/// A prefix that people use for another one in `--benchmark_filter`, e.g. `HTB/` for `HashTableBench/`.
struct Alias {
    std::string shorthand;
    std::string prefix;
};

struct Suite {
    /// The program's name in results, e.g. `executor`.
    std::string name;
    /// The variant that was compiled in, e.g. `mock_taskable`.
    std::string variant;
    /// Registers every benchmark of the suite; called once, after the command line was read.
    void (*registerBenchmarks)();
    std::vector<Option> options = {};
    std::vector<Alias> aliases = {};
};

/// Every suite defines this one function; the harness's main() calls it.
Suite describeSuite();

/// Run all of main() and return the exit code; once per process, because Google Benchmark keeps its flags.
int runSuite(const Suite& suite, int argc, char** argv);

}  // namespace benchgate
