// SPDX-License-Identifier: Apache-2.0
/// The CPUs and caches that statistics make stripes for: those that the process may use, or as many caches as `--llcs`
/// sets.
#pragma once

#include <string_view>

#include "harness/topology.h"

namespace hash_table {

/// Treats the CPUs as sharing this many last-level caches, in all statistics made from now on. Throws
/// std::invalid_argument unless `count` is a whole number from 1.
void setLastLevelCaches(std::string_view count);

benchgate::Topology statisticsTopology();

}  // namespace hash_table
