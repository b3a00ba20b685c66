// SPDX-License-Identifier: Apache-2.0
/// Variant `per_transaction_callback`: requests carry only their item, and the transaction has one callback for all.
#pragma once

#include <string_view>
#include <utility>

#include "flush_vbucket/item.h"
#include "flush_vbucket/vbucket.h"
#include "flush_vbucket/write_result.h"

namespace flush_vbucket {

struct PerTransactionCallback {
    static constexpr std::string_view variant = "per_transaction_callback";

    class Transaction;

    class PersistenceCallback {
       public:
        void operator()(VBucket& vbucket, const QueuedItem& item, SetResult result) const;
        void operator()(VBucket& vbucket, const QueuedItem& item, DeleteResult result) const;
    };

    /// The part of the variant that each request holds.
    class Ticket {
       public:
        explicit Ticket(QueuedItem item) : item_{std::move(item)} {}
        [[nodiscard]] bool isDelete() const { return item_->isDeleted; }

       private:
        friend class Transaction;

        QueuedItem item_;
    };

    /// The part of the variant that each transaction holds.
    class Transaction {
       public:
        explicit Transaction(VBucket& vbucket) : vbucket_{&vbucket} {}
        void finish(const Ticket& ticket, SetResult result) { callback_(*vbucket_, ticket.item_, result); }
        void finish(const Ticket& ticket, DeleteResult result) { callback_(*vbucket_, ticket.item_, result); }

       private:
        VBucket* vbucket_;
        PersistenceCallback callback_;
    };
};

static_assert(sizeof(PerTransactionCallback::Ticket) == 8);

}  // namespace flush_vbucket
