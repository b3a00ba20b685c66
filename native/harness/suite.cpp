// SPDX-License-Identifier: Apache-2.0
#include "harness/suite.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string_view>
#include <vector>

#include "harness/command_line.h"
#include "harness/pinning.h"
#include "harness/provenance.h"
#include "harness/topology.h"

namespace benchgate {
namespace {

/// Reads the revision from the environment. It must not come from the build, because equal sources must give equal
/// binaries.
const char* revisionFromEnvironment() {
    const char* revision = std::getenv("BENCHGATE_REVISION");  // NOLINT(concurrency-mt-unsafe): one thread so far
    return revision == nullptr ? "" : revision;
}

void stamp(const std::vector<ContextEntry>& entries) {
    for (const auto& [key, value] : entries) {
        benchmark::AddCustomContext(key, value);
    }
}

/// Reads the whole command line. Returns false if it has unknown flags.
bool readCommandLine(const Suite& suite, int argc, char** argv) {
    if (std::find(argv, argv + argc, std::string_view{"--help"}) != argv + argc) {
        // Google Benchmark prints its own flags and exits.
        std::cout << describeCommandLine(suite) << std::flush;
    }
    const auto options = takeOptions(suite.options, argc, argv);
    benchmark::Initialize(&argc, argv);
    stamp(options);
    return !benchmark::ReportUnrecognizedArguments(argc, argv);
}

void runBenchmarks(const Suite& suite) {
    stamp(provenance(suite, probePinning(), readTopology(), revisionFromEnvironment()));
    if (const auto warning = buildWarning()) {
        std::cerr << "warning: " << *warning << '\n';
    }
    suite.registerBenchmarks();
    benchmark::RunSpecifiedBenchmarks(expandAliases(suite.aliases, benchmark::GetBenchmarkFilter()));
    benchmark::Shutdown();
}

}  // namespace

int runSuite(const Suite& suite, int argc, char** argv) {
    try {
        if (!readCommandLine(suite, argc, argv)) {
            return EXIT_FAILURE;
        }
        runBenchmarks(suite);
    } catch (const std::exception& error) {
        std::cerr << "error: " << error.what() << '\n';
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

}  // namespace benchgate
