/// What a suite tells the harness about itself.
#pragma once

#include <string>

namespace benchgate {

struct Suite {
    /// The program's name in results, e.g. `executor`.
    std::string name;
    /// The variant that was compiled in, e.g. `mock_taskable`.
    std::string variant;
    /// Registers every benchmark of the suite; called once, after the command line was read.
    void (*registerBenchmarks)();
};

/// Every suite defines this one function; the harness's main() calls it.
Suite describeSuite();

}  // namespace benchgate
