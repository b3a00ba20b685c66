// SPDX-License-Identifier: Apache-2.0
/// Context entries that identify a result, so that only comparable results are compared.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/pinning.h"
#include "harness/suite.h"
#include "harness/topology.h"

namespace benchgate {

using ContextEntry = std::pair<std::string, std::string>;

/// Returns the context entries for the result's header. Every key begins with `benchgate_`, so that none can clash with
/// a key of Google Benchmark. An empty revision is recorded as `unknown`.
std::vector<ContextEntry> provenance(const Suite& suite, const Pinning& pinning, const Topology& topology,
                                     std::string_view revision);

/// Returns a warning for stderr if times of this build are not meaningful, else nothing.
std::optional<std::string> buildWarning();

}  // namespace benchgate
