// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/per_transaction_callback.h"

namespace flush_vbucket {

void PerTransactionCallback::PersistenceCallback::operator()(VBucket& vbucket, const QueuedItem& item,
                                                             SetResult result) const {
    applyResult(vbucket, item, item->cas, result);
}

void PerTransactionCallback::PersistenceCallback::operator()(VBucket& vbucket, const QueuedItem& item,
                                                             DeleteResult result) const {
    applyResult(vbucket, item, item->cas, result);
}

}  // namespace flush_vbucket
