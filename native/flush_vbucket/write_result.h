// SPDX-License-Identifier: Apache-2.0
/// The result of an item's write, and its consequences for the vbucket.
#pragma once

#include <cstdint>

#include "flush_vbucket/item.h"
#include "flush_vbucket/vbucket.h"

namespace flush_vbucket {

enum class SetResult : std::uint8_t { Insert, Update, Failed };
enum class DeleteResult : std::uint8_t { Success, DocNotFound, Failed };

/// Applies the result of a set. After a success the value is counted, and it is clean if it is still the newest. After
/// a failure it is dirty and will be written again. `cas` is the item's; a variant may keep it elsewhere.
void applyResult(VBucket& vbucket, const QueuedItem& item, std::uint64_t cas, SetResult result);

/// Does the same for a deletion: after a success the value leaves the memory, unless it was set again since.
void applyResult(VBucket& vbucket, const QueuedItem& item, std::uint64_t cas, DeleteResult result);

}  // namespace flush_vbucket
