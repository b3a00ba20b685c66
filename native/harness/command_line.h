// SPDX-License-Identifier: Apache-2.0
/// The suite's own flags and shorthands, which Google Benchmark does not know.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/provenance.h"
#include "harness/suite.h"

namespace benchgate {

/// Removes the suite's options from the arguments and sets them; if an option is given twice, the last value counts.
/// Returns the options given, as context entries `benchgate_option_<name>`. Throws std::invalid_argument with the name
/// of the option if a value is missing or not allowed.
std::vector<ContextEntry> takeOptions(const std::vector<Option>& options, int& argc, char** argv);

/// Returns the filter with each shorthand expanded at the places where a name can begin: at the start, after the `-`
/// that negates a filter, and after `^`, `(` and `|`.
std::string expandAliases(const std::vector<Alias>& aliases, std::string_view filter);

/// Returns the suite's part of `--help`; empty if the suite has neither options nor shorthands.
std::string describeCommandLine(const Suite& suite);

}  // namespace benchgate
