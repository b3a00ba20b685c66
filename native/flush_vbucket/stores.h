// SPDX-License-Identifier: Apache-2.0
/// The stores that this build knows, by the numbers they have in benchmark names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "flush_vbucket/kv_store.h"

namespace flush_vbucket {

enum class StoreKind : std::uint8_t { AppendOnly = 0, RocksDB = 1 };

/// Always store 0; store 1 where RocksDB was there at build time.
std::vector<StoreKind> availableStores();

/// The name in a result's label.
std::string_view storeName(StoreKind kind);

/// Opens what is in `directory`, or makes an empty store there. Throws StoreError, also for a kind that is not
/// available.
std::unique_ptr<KVStore> openStore(StoreKind kind, const std::filesystem::path& directory);

}  // namespace flush_vbucket
