// SPDX-License-Identifier: Apache-2.0
/// The description of a suite, and the function that runs it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace benchgate {

/// A command-line flag of the suite's own, given as `--name=value`.
struct Option {
    std::string name;
    /// Sets the value, before benchmarks are registered. Throws std::invalid_argument with a message that names the
    /// allowed values.
    void (*set)(std::string_view value);
    /// A few words for `--help`.
    std::string help = {};
};

/// A short form of a name's prefix in `--benchmark_filter`, e.g. `HTB/` for `HashTableBench/`.
struct Alias {
    std::string shorthand;
    std::string prefix;
};

struct Suite {
    /// The program's name in results, e.g. `executor`.
    std::string name;
    /// The variant that was compiled in, e.g. `mock_taskable`.
    std::string variant;
    /// Registers every benchmark of the suite; the harness calls it once, after it has read the command line.
    void (*registerBenchmarks)();
    std::vector<Option> options = {};
    std::vector<Alias> aliases = {};
};

/// Describes the suite. Every suite defines this one function, and the harness's main() calls it.
Suite describeSuite();

/// Does all the work of main() and returns the program's exit code. Must be called once per process, because Google
/// Benchmark keeps its settings.
int runSuite(const Suite& suite, int argc, char** argv);

}  // namespace benchgate
