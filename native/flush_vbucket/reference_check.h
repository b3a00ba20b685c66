// SPDX-License-Identifier: Apache-2.0
/// Reference checks that every variant and store must pass before it is timed.
#pragma once

#include "flush_vbucket/flusher.h"
#include "flush_vbucket/stores.h"
#include "harness/checked_benchmark.h"

namespace flush_vbucket {

/// Checks that after several flushes of sets, deletions and repeated keys the reopened store holds exactly what a plain
/// map holds after the same mutations, and that the vbucket has counted each one.
benchgate::Mismatch checkFlush(Flusher& flusher, StoreKind kind);

/// Checks that queueing with repeated keys leaves each key's last mutation, in the order of arrival.
benchgate::Mismatch checkQueueDirty();

}  // namespace flush_vbucket
