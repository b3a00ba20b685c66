// SPDX-License-Identifier: Apache-2.0
/// Variant `per_item_callback`: each request carries its own callback, which is called with the result of its write.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>
#include <variant>

#include "flush_vbucket/item.h"
#include "flush_vbucket/vbucket.h"
#include "flush_vbucket/write_result.h"

namespace flush_vbucket {

struct PerItemCallback {
    static constexpr std::string_view variant = "per_item_callback";

    /// The part of the variant that each transaction holds.
    class Transaction;

    using SetCallback = std::function<void(Transaction&, SetResult)>;
    using DeleteCallback = std::function<void(Transaction&, DeleteResult)>;

    /// Not trivially copyable, so std::function cannot store it inside itself: each callback becomes a block on the
    /// heap.
    class PersistenceCallback {
       public:
        PersistenceCallback(QueuedItem item, std::uint64_t cas);
        void operator()(Transaction& transaction, SetResult result) const;
        void operator()(Transaction& transaction, DeleteResult result) const;

       private:
        QueuedItem item_;
        std::uint64_t cas_;
    };

    /// The part of the variant that each request holds.
    class Ticket {
       public:
        explicit Ticket(const QueuedItem& item);
        [[nodiscard]] bool isDelete() const { return std::holds_alternative<DeleteCallback>(callback_); }

       private:
        friend class Transaction;

        std::variant<SetCallback, DeleteCallback> callback_;
    };

    class Transaction {
       public:
        explicit Transaction(VBucket& vbucket) : vbucket_{&vbucket} {}
        void finish(const Ticket& ticket, SetResult result);
        void finish(const Ticket& ticket, DeleteResult result);
        VBucket& vbucket() { return *vbucket_; }

       private:
        VBucket* vbucket_;
    };
};

static_assert(sizeof(PerItemCallback::PersistenceCallback) == 16);
static_assert(!std::is_trivially_copyable_v<PerItemCallback::PersistenceCallback>);
static_assert(sizeof(PerItemCallback::Ticket) == 40);

}  // namespace flush_vbucket
