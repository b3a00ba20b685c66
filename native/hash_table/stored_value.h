// SPDX-License-Identifier: Apache-2.0
/// A value in the table: a node of its bucket's chain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "hash_table/item.h"

namespace hash_table {

class StoredValue;

/// The first node of a bucket's chain, or the link to the next one.
using Link = std::unique_ptr<StoredValue>;

class StoredValue {
   public:
    explicit StoredValue(const Item& item, Link next = nullptr);

    /// Replaces all but the key; the value is then dirty, and used once more.
    void update(const Item& item);

    /// Forgets the value in memory: the disk has it.
    void eject();

    /// The disk has the value as it is now.
    void markClean() { isDirty_ = false; }

    [[nodiscard]] const std::string& key() const { return key_; }
    [[nodiscard]] const std::string& value() const { return value_; }
    [[nodiscard]] Datatype datatype() const { return datatype_; }
    [[nodiscard]] bool isDirty() const { return isDirty_; }
    [[nodiscard]] bool isResident() const { return isResident_; }
    [[nodiscard]] bool isDeleted() const { return isDeleted_; }
    [[nodiscard]] bool isTemp() const { return isTemp_; }
    [[nodiscard]] bool isSystem() const { return isSystem_; }
    [[nodiscard]] bool isPending() const { return isPending_; }
    /// How often the value was replaced, counted up to 255.
    [[nodiscard]] std::uint8_t frequency() const { return frequency_; }

    /// Bytes of the node and its key.
    [[nodiscard]] std::size_t metaDataSize() const { return sizeof(StoredValue) + key_.size(); }
    /// Bytes of the node, its key and its value.
    [[nodiscard]] std::size_t size() const { return metaDataSize() + value_.size(); }
    /// The same with the value inflated.
    [[nodiscard]] std::size_t uncompressedSize() const {
        return inflatedSize_ == 0 ? size() : metaDataSize() + inflatedSize_;
    }

    /// The rest of the chain; the table's alone.
    Link next;

   private:
    void take(const Item& item);

    std::string key_;
    std::string value_;
    std::uint32_t inflatedSize_ = 0;
    Datatype datatype_ = rawDatatype;
    std::uint8_t frequency_ = 0;
    bool isDirty_ = true;
    bool isResident_ = true;
    bool isDeleted_ = false;
    bool isTemp_ = false;
    bool isSystem_ = false;
    bool isPending_ = false;
};

}  // namespace hash_table
