// SPDX-License-Identifier: Apache-2.0
/// The items of the benchmarks, which are the same in every launch.
#pragma once

#include <memory>
#include <vector>

#include "hash_table/item.h"
#include "hash_table/stored_value.h"

namespace hash_table {

/// Makes an item with a value of one byte for each of the keys `Thread<thread>::0`, `Thread<thread>::1`, …
std::vector<Item> makeItems(int thread, int count);

/// Makes the same as values that are in no table.
std::vector<std::unique_ptr<StoredValue>> makeValues(int thread, int count);

}  // namespace hash_table
