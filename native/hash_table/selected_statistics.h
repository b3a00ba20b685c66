// SPDX-License-Identifier: Apache-2.0
/// The variant that the suite measures: the one line to change.
#pragma once

#include "hash_table/per_core_statistics.h"
#include "hash_table/per_llc_statistics.h"
#include "hash_table/single_statistics.h"

namespace hash_table {

using SelectedStatistics = SingleStatistics;

}  // namespace hash_table
