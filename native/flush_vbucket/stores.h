// SPDX-License-Identifier: Apache-2.0
/// The stores of this build, by their numbers in benchmark names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "flush_vbucket/kv_store.h"

namespace flush_vbucket {

enum class StoreKind : std::uint8_t { AppendOnly = 0, RocksDB = 1 };

/// Returns store 0, and store 1 if RocksDB was installed at build time.
std::vector<StoreKind> availableStores();

/// Returns the store's name in a result's label.
std::string_view storeName(StoreKind kind);

/// Opens the store in `directory`, or creates an empty one there. Throws StoreError; also for a kind that is not
/// available.
std::unique_ptr<KVStore> openStore(StoreKind kind, const std::filesystem::path& directory);

}  // namespace flush_vbucket
