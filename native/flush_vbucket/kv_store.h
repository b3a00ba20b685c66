// SPDX-License-Identifier: Apache-2.0
/// Where documents go to be safe: what the flusher needs of a store.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>

#include "flush_vbucket/document.h"
#include "flush_vbucket/vbucket_state.h"

namespace flush_vbucket {

/// A store could not do what it was asked for; what was committed before is untouched.
struct StoreError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class KVStore {
   public:
    using Contents = std::map<std::string, StoredDocument>;
    /// Told for each document of a commit, in their order, whether its key was on disk before.
    using OnSaved = std::function<void(const Document& document, bool wasThere)>;

    KVStore() = default;
    virtual ~KVStore() = default;
    KVStore(const KVStore&) = delete;
    KVStore& operator=(const KVStore&) = delete;
    KVStore(KVStore&&) = delete;
    KVStore& operator=(KVStore&&) = delete;

    /// Writes all documents, which have different keys, and the state: when it returns they have reached the disk, and
    /// when it throws StoreError none of them counts.
    virtual void commit(std::span<Document* const> documents, const VBucketState& state, const OnSaved& onSaved) = 0;

    /// Everything that was committed and not deleted since, read from disk.
    [[nodiscard]] virtual Contents readAll() const = 0;

    /// The state of the last commit.
    [[nodiscard]] virtual VBucketState state() const = 0;
};

}  // namespace flush_vbucket
