/// Runs one suite: stamps where the numbers come from, then hands over to Google Benchmark.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <exception>
#include <iostream>

#include "harness/pinning.h"
#include "harness/provenance.h"
#include "harness/suite.h"

namespace {

/// The revision comes from the environment, never from the build: equal sources must give equal binaries.
const char* revisionFromEnvironment() {
    const char* revision = std::getenv("BENCHGATE_REVISION");  // NOLINT(concurrency-mt-unsafe): one thread so far
    return revision == nullptr ? "" : revision;
}

void runSuite() {
    const benchgate::Suite suite = benchgate::describeSuite();
    const benchgate::Pinning pinning = benchgate::probePinning();
    for (const auto& [key, value] : benchgate::provenance(suite, pinning, revisionFromEnvironment())) {
        benchmark::AddCustomContext(key, value);
    }
    if (const auto warning = benchgate::buildWarning()) {
        std::cerr << "warning: " << *warning << '\n';
    }
    suite.registerBenchmarks();
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}

}  // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
        return EXIT_FAILURE;
    }
    try {
        runSuite();
    } catch (const std::exception& error) {
        std::cerr << "error: " << error.what() << '\n';
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
