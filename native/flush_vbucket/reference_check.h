// SPDX-License-Identifier: Apache-2.0
/// What every variant and store must answer before it is timed.
#pragma once

#include "flush_vbucket/flusher.h"
#include "flush_vbucket/stores.h"
#include "harness/checked_benchmark.h"

namespace flush_vbucket {

/// After several flushes of sets, deletions and repeated keys, the reopened store holds exactly what a plain map holds
/// after the same mutations, and the vbucket has counted each one.
benchgate::Mismatch checkFlush(Flusher& flusher, StoreKind kind);

/// Queueing with repeated keys leaves each key's last mutation, in the order in which they came.
benchgate::Mismatch checkQueueDirty();

}  // namespace flush_vbucket
