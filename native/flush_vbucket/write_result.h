// SPDX-License-Identifier: Apache-2.0
/// How the write of one item ended, and what follows from that for its vbucket.
#pragma once

#include <cstdint>

#include "flush_vbucket/item.h"
#include "flush_vbucket/vbucket.h"

namespace flush_vbucket {

enum class SetResult : std::uint8_t { Insert, Update, Failed };
enum class DeleteResult : std::uint8_t { Success, DocNotFound, Failed };

/// The value that was written is clean if it is still the newest, and is counted; after a failure it is dirty and will
/// be written again. `cas` is the item's: a variant may have it from elsewhere.
void applyResult(VBucket& vbucket, const QueuedItem& item, std::uint64_t cas, SetResult result);

/// The same for a deletion: the value leaves the memory if nobody has set it since.
void applyResult(VBucket& vbucket, const QueuedItem& item, std::uint64_t cas, DeleteResult result);

}  // namespace flush_vbucket
