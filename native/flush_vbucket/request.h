// SPDX-License-Identifier: Apache-2.0
/// A pending write of a transaction. The heap holds one for every item that is flushed.
#pragma once

#include <chrono>
#include <string>

#include "flush_vbucket/document.h"
#include "flush_vbucket/item.h"
#include "flush_vbucket/per_item_callback.h"
#include "flush_vbucket/per_transaction_callback.h"

namespace flush_vbucket {

/// `Callback` is the variant; requests differ in its `Ticket`.
template <typename Callback>
class Request {
   public:
    using Clock = std::chrono::steady_clock;

    explicit Request(const QueuedItem& item)
        : ticket_{item}, key_{item->key}, madeAt_{Clock::now()}, value_{item->value}, meta_{encodeMeta(*item)} {
        document_.body = {.key = key_, .value = value_ ? std::string_view{value_->bytes} : std::string_view{}};
        document_.info = {.key = key_,
                          .seqno = item->seqno,
                          .revision = item->revision,
                          .meta = meta_,
                          .isDeleted = item->isDeleted,
                          .content = item->datatype == Datatype::Json ? ContentKind::Json : ContentKind::Binary};
    }
    ~Request() = default;
    // The document points into the request.
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;
    Request(Request&&) = delete;
    Request& operator=(Request&&) = delete;

    [[nodiscard]] const typename Callback::Ticket& ticket() const { return ticket_; }
    [[nodiscard]] const std::string& key() const { return key_; }
    [[nodiscard]] Clock::time_point madeAt() const { return madeAt_; }
    [[nodiscard]] bool isDelete() const { return ticket_.isDelete(); }
    Document& document() { return document_; }

   private:
    typename Callback::Ticket ticket_;
    std::string key_;
    Clock::time_point madeAt_;
    Value value_;
    EncodedMeta meta_;
    Document document_;
};

// The suite measures these sizes: two requests share a node of a deque, and the variants differ by 32 bytes per item.
static_assert(sizeof(DocumentBody) == 32);
static_assert(sizeof(DocumentInfo) == 72);
static_assert(sizeof(Request<PerItemCallback>) == 224);
static_assert(sizeof(Request<PerTransactionCallback>) == 192);

}  // namespace flush_vbucket
