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

    /// Replaces everything except the key. The value is then dirty, and its frequency rises by one.
    void update(const Item& item);

    /// Removes the value from memory; the disk has it.
    void eject();

    /// Marks the value as being on disk as it is now.
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
    /// Returns how often the value was replaced, counted up to 255.
    [[nodiscard]] std::uint8_t frequency() const { return frequency_; }

    /// Returns the size of the node and its key in bytes.
    [[nodiscard]] std::size_t metaDataSize() const { return sizeof(StoredValue) + key_.size(); }
    /// Returns the size of the node, its key and its value in bytes.
    [[nodiscard]] std::size_t size() const { return metaDataSize() + value_.size(); }
    /// Returns the same with the value uncompressed.
    [[nodiscard]] std::size_t uncompressedSize() const {
        return inflatedSize_ == 0 ? size() : metaDataSize() + inflatedSize_;
    }

    /// The rest of the chain; only the table uses it.
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
