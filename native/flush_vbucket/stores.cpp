// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/stores.h"

#include "flush_vbucket/append_only_store.h"
#ifdef FLUSH_VBUCKET_HAS_ROCKSDB
#include "flush_vbucket/rocksdb_store.h"
#endif

namespace flush_vbucket {

std::vector<StoreKind> availableStores() {
#ifdef FLUSH_VBUCKET_HAS_ROCKSDB
    return {StoreKind::AppendOnly, StoreKind::RocksDB};
#else
    return {StoreKind::AppendOnly};
#endif
}

std::string_view storeName(StoreKind kind) { return kind == StoreKind::AppendOnly ? "append_only" : "rocksdb"; }

std::unique_ptr<KVStore> openStore(StoreKind kind, const std::filesystem::path& directory) {
    if (kind == StoreKind::AppendOnly) {
        return std::make_unique<AppendOnlyStore>(directory);
    }
#ifdef FLUSH_VBUCKET_HAS_ROCKSDB
    return std::make_unique<RocksDBStore>(directory);
#else
    throw StoreError{"this build does not include RocksDB"};
#endif
}

}  // namespace flush_vbucket
