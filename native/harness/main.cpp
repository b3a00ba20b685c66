// SPDX-License-Identifier: Apache-2.0
/// The main() function of every suite.
#include "harness/suite.h"

int main(int argc, char** argv) { return benchgate::runSuite(benchgate::describeSuite(), argc, argv); }
