// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/per_item_callback.h"

#include <utility>

namespace flush_vbucket {

PerItemCallback::PersistenceCallback::PersistenceCallback(QueuedItem item, std::uint64_t cas)
    : item_{std::move(item)}, cas_{cas} {}

void PerItemCallback::PersistenceCallback::operator()(Transaction& transaction, SetResult result) const {
    applyResult(transaction.vbucket(), item_, cas_, result);
}

void PerItemCallback::PersistenceCallback::operator()(Transaction& transaction, DeleteResult result) const {
    applyResult(transaction.vbucket(), item_, cas_, result);
}

PerItemCallback::Ticket::Ticket(const QueuedItem& item) {
    if (item->isDeleted) {
        callback_.emplace<DeleteCallback>(PersistenceCallback{item, item->cas});
    } else {
        callback_.emplace<SetCallback>(PersistenceCallback{item, item->cas});
    }
}

void PerItemCallback::Transaction::finish(const Ticket& ticket, SetResult result) {
    std::get<SetCallback>(ticket.callback_)(*this, result);
}

void PerItemCallback::Transaction::finish(const Ticket& ticket, DeleteResult result) {
    std::get<DeleteCallback>(ticket.callback_)(*this, result);
}

}  // namespace flush_vbucket
