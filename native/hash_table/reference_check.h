// SPDX-License-Identifier: Apache-2.0
/// Reference checks that the selected statistics and their table must pass before they are timed.
#pragma once

#include "harness/checked_benchmark.h"
#include "hash_table/table_statistics.h"

namespace hash_table {

/// Checks that the table has the contents of a std::map after the same mutations, by one thread and by several while it
/// is resized, and that its statistics agree with a count of all values.
benchgate::Mismatch checkTable(int threads);

/// Checks that the statistics count values that come, change and go, by one thread and by several.
template <Stride stride>
benchgate::Mismatch checkStatistics(int threads);

extern template benchgate::Mismatch checkStatistics<Stride::Unpadded>(int threads);
extern template benchgate::Mismatch checkStatistics<Stride::Padded>(int threads);

}  // namespace hash_table
