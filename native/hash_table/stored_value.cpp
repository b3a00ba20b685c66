// SPDX-License-Identifier: Apache-2.0
#include "hash_table/stored_value.h"

#include <limits>
#include <utility>

namespace hash_table {

StoredValue::StoredValue(const Item& item, Link next) : next{std::move(next)}, key_{item.key} { take(item); }

void StoredValue::update(const Item& item) {
    take(item);
    if (frequency_ < std::numeric_limits<std::uint8_t>::max()) {
        ++frequency_;
    }
}

void StoredValue::eject() {
    value_ = {};
    inflatedSize_ = 0;
    isResident_ = false;
}

void StoredValue::take(const Item& item) {
    value_ = item.value;
    inflatedSize_ = item.inflatedSize;
    datatype_ = item.datatype;
    isDirty_ = true;
    isResident_ = true;
    isDeleted_ = item.isDeleted;
    isTemp_ = item.isTemp;
    isSystem_ = item.isSystem;
    isPending_ = item.isPending;
}

}  // namespace hash_table
