// SPDX-License-Identifier: Apache-2.0
/// The totals that statistics must report for some values, found by looking at each value.
#pragma once

#include <optional>
#include <string>

#include "hash_table/stored_value.h"
#include "hash_table/stripe_counters.h"

namespace hash_table {

/// Counts one more value. It knows nothing of snapshots and changes, so that it can be a reference for them.
void countInReference(Totals& totals, const StoredValue& value);

/// Returns the first counter that differs, with both numbers; nothing if none differs.
std::optional<std::string> differenceBetween(const Totals& expected, const Totals& actual);

}  // namespace hash_table
