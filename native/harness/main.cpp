/// The main() of every suite.
#include "harness/run_suite.h"

int main(int argc, char** argv) { return benchgate::runSuite(benchgate::describeSuite(), argc, argv); }
