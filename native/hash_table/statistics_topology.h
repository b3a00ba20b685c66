// SPDX-License-Identifier: Apache-2.0
/// The CPUs and caches that stripes are made for: those the process may use, or what the option `--llcs` says of them.
#pragma once

#include <string_view>

#include "harness/topology.h"

namespace hash_table {

/// Takes the CPUs to share so many last-level caches, for all statistics made from now on. Throws std::invalid_argument
/// unless it is a whole number from 1.
void setLastLevelCaches(std::string_view count);

benchgate::Topology statisticsTopology();

}  // namespace hash_table
