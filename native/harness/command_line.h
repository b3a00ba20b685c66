// SPDX-License-Identifier: Apache-2.0
/// Reads the suite's own flags and shorthands, which Google Benchmark knows nothing of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/provenance.h"
#include "harness/suite.h"

namespace benchgate {

/// Takes the suite's options out of the arguments and sets them. Of an option given twice, the last counts. Returns
/// what was given, as entries `benchgate_option_<name>` of the context. Throws std::invalid_argument, with the name of
/// the option, if a value is missing or refused.
std::vector<ContextEntry> takeOptions(const std::vector<Option>& options, int& argc, char** argv);

/// The filter with each shorthand written out where a name can begin: at the start, behind the `-` that turns a filter
/// round, and behind `^`, `(` and `|`.
std::string expandAliases(const std::vector<Alias>& aliases, std::string_view filter);

/// What `--help` says of the suite; nothing if it has neither options nor shorthands.
std::string describeCommandLine(const Suite& suite);

}  // namespace benchgate
