// SPDX-License-Identifier: Apache-2.0
/// The interface of a store, as the flusher needs it.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>

#include "flush_vbucket/document.h"
#include "flush_vbucket/vbucket_state.h"

namespace flush_vbucket {

/// The failure of a store's operation; earlier commits are not affected.
struct StoreError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class KVStore {
   public:
    using Contents = std::map<std::string, StoredDocument>;
    /// Called for each document of a commit, in their order, with whether its key was on disk before.
    using OnSaved = std::function<void(const Document& document, bool wasThere)>;

    KVStore() = default;
    virtual ~KVStore() = default;
    KVStore(const KVStore&) = delete;
    KVStore& operator=(const KVStore&) = delete;
    KVStore(KVStore&&) = delete;
    KVStore& operator=(KVStore&&) = delete;

    /// Writes all documents, whose keys must differ, and the state. When it returns, they are on disk; when it throws
    /// StoreError, none of them is.
    virtual void commit(std::span<Document* const> documents, const VBucketState& state, const OnSaved& onSaved) = 0;

    /// Reads from disk all documents that were committed and not deleted since.
    [[nodiscard]] virtual Contents readAll() const = 0;

    /// Returns the state of the last commit.
    [[nodiscard]] virtual VBucketState state() const = 0;
};

}  // namespace flush_vbucket
