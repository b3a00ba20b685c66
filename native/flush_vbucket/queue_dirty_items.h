/// Mutations to be queued, of which every tenth repeats an earlier key.
#pragma once

#include <cstddef>
#include <vector>

#include "flush_vbucket/item.h"

namespace flush_vbucket {

/// The same items in every launch.
std::vector<QueuedItem> itemsWithDuplicates(std::size_t count);

}  // namespace flush_vbucket
