// SPDX-License-Identifier: Apache-2.0
#include "hash_table/make_items.h"

#include <cstddef>
#include <string>

namespace hash_table {

std::vector<Item> makeItems(int thread, int count) {
    const std::string prefix = "Thread" + std::to_string(thread) + "::";
    std::vector<Item> items;
    items.reserve(static_cast<std::size_t>(count));
    for (int item = 0; item < count; ++item) {
        items.push_back({.key = prefix + std::to_string(item), .value = "x"});
    }
    return items;
}

std::vector<std::unique_ptr<StoredValue>> makeValues(int thread, int count) {
    std::vector<std::unique_ptr<StoredValue>> values;
    values.reserve(static_cast<std::size_t>(count));
    for (const Item& item : makeItems(thread, count)) {
        values.push_back(std::make_unique<StoredValue>(item));
    }
    return values;
}

}  // namespace hash_table
