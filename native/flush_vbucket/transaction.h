// SPDX-License-Identifier: Apache-2.0
/// The writes of one flush: collected, committed to the store together, then each result is reported to the vbucket.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "flush_vbucket/kv_store.h"
#include "flush_vbucket/request.h"

namespace flush_vbucket {

template <typename Callback>
class Transaction {
   public:
    struct Summary {
        bool isCommitted = false;
        /// From the creation of the first request to the end of the last callback.
        std::chrono::nanoseconds longestWrite{0};
    };

    /// Begins the transaction.
    Transaction(KVStore& store, VBucket& vbucket) : store_{store}, context_{vbucket} {}

    /// Queues an item's write, or its removal if it is a deletion. Each key may be added only once.
    void add(const QueuedItem& item) { pendingRequests_.emplace_back(item); }

    /// Ends the transaction: no request is left, whether the store succeeded or not.
    Summary commit(const VBucketState& state) {
        Summary summary;
        if (!pendingRequests_.empty()) {
            summary.isCommitted = save(state);
            reportResults(summary.isCommitted);
            summary.longestWrite = Clock::now() - pendingRequests_.front().madeAt();
        }
        pendingRequests_.clear();
        return summary;
    }

   private:
    using Clock = typename Request<Callback>::Clock;

    /// Returns false if the store failed; nothing was written then.
    bool save(const VBucketState& state) {
        std::vector<Document*> documents;
        documents.reserve(pendingRequests_.size());
        wasOnDisk_.reserve(pendingRequests_.size());
        for (auto& request : pendingRequests_) {
            documents.push_back(&request.document());
            wasOnDisk_.emplace(request.key(), false);
        }
        try {
            store_.commit(documents, state, [this](const Document& document, bool wasThere) {
                wasOnDisk_.find(std::string{document.info.key})->second = wasThere;
            });
        } catch (const StoreError&) {
            return false;
        }
        return true;
    }

    void reportResults(bool isCommitted) {
        for (const auto& request : pendingRequests_) {
            const bool wasThere = wasOnDisk_.find(request.key())->second;
            if (request.isDelete()) {
                const auto success = wasThere ? DeleteResult::Success : DeleteResult::DocNotFound;
                context_.finish(request.ticket(), isCommitted ? success : DeleteResult::Failed);
            } else {
                const auto success = wasThere ? SetResult::Update : SetResult::Insert;
                context_.finish(request.ticket(), isCommitted ? success : SetResult::Failed);
            }
        }
    }

    KVStore& store_;
    typename Callback::Transaction context_;
    std::deque<Request<Callback>> pendingRequests_;
    std::unordered_map<std::string, bool> wasOnDisk_;
};

}  // namespace flush_vbucket
