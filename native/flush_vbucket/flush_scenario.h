// SPDX-License-Identifier: Apache-2.0
/// The measured scenario: a vbucket full of mutations, ready to be flushed into a store in a temporary directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flush_vbucket/flusher.h"
#include "flush_vbucket/item.h"
#include "flush_vbucket/kv_store.h"
#include "flush_vbucket/scoped_directory.h"
#include "flush_vbucket/stores.h"
#include "flush_vbucket/vbucket.h"

namespace flush_vbucket {

/// Whether the flushed keys are all new to the store, or all in it already.
enum class Mode : std::uint8_t { Insert = 0, Replace = 1 };

std::string_view modeName(Mode mode);

/// Returns the key of a number: short enough to need no heap of its own.
std::string keyOf(std::size_t number);

/// Returns mutations of which every tenth repeats an earlier key; they are the same in every launch.
std::vector<QueuedItem> itemsWithDuplicates(std::size_t count);

class FlushScenario {
   public:
    FlushScenario(std::unique_ptr<Flusher> flusher, StoreKind kind, Mode mode, std::size_t items);

    /// Queues one mutation of each item: in Mode::Insert in a new vbucket and store, in Mode::Replace in the same ones
    /// as before.
    void prepare();

    /// Flushes the queue. Returns how many items were written, which are fewer if the store failed.
    std::size_t flush() { return flushWith(*store_); }
    /// Does the same with another store.
    std::size_t flushWith(KVStore& store) { return flushAll(*flusher_, *vbucket_, store); }

    VBucket& vbucket() { return *vbucket_; }
    KVStore& store() { return *store_; }

   private:
    void makeFresh();
    void setAll();

    std::unique_ptr<Flusher> flusher_;
    StoreKind kind_;
    Mode mode_;
    std::size_t items_;
    std::unique_ptr<ScopedDirectory> directory_;
    std::unique_ptr<KVStore> store_;
    std::unique_ptr<VBucket> vbucket_;
};

}  // namespace flush_vbucket
