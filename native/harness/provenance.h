// SPDX-License-Identifier: Apache-2.0
/// What a result must carry so that it is never compared with a stranger.
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

/// Context entries for the result's header, every key beginning with `benchgate_` so that none can meet a key of
/// the library's own. An empty revision is stamped as `unknown`.
std::vector<ContextEntry> provenance(const Suite& suite, const Pinning& pinning, const Topology& topology,
                                     std::string_view revision);

/// A sentence for stderr if times of this build should not be believed, else nothing.
std::optional<std::string> buildWarning();

}  // namespace benchgate
