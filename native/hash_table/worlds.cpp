// SPDX-License-Identifier: Apache-2.0
#include "hash_table/worlds.h"

namespace hash_table {

EmptyTableWorld::EmptyTableWorld(int threads)
    : bucketMetaData{statisticsTopology()}, table{statisticsTopology(), bucketMetaData} {
    for (int thread = 0; thread < threads; ++thread) {
        items.push_back(makeItems(thread, itemsPerThread));
    }
    table.resize(itemsPerThread);
}

FullTableWorld::FullTableWorld(const benchmark::State& state) : EmptyTableWorld{state} {
    for (const auto& ofThread : items) {
        for (const Item& item : ofThread) {
            table.set(item);
        }
    }
}

SharedTableWorld::SharedTableWorld(const benchmark::State& /*state*/) : EmptyTableWorld{1} {
    bool isPendingToo = false;
    for (Item item : items.front()) {
        table.set(item);
        item.isPending = true;
        if (isPendingToo) {
            table.set(item);
        }
        isPendingToo = !isPendingToo;
    }
}

}  // namespace hash_table
