/// Runs one suite: stamps where the numbers come from, then hands over to Google Benchmark.
#pragma once

#include "harness/suite.h"

namespace benchgate {

/// All of main(): returns the program's exit code. Once per process, for Google Benchmark keeps what it was told.
int runSuite(const Suite& suite, int argc, char** argv);

}  // namespace benchgate
