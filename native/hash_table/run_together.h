// SPDX-License-Identifier: Apache-2.0
/// Runs a piece of work on several threads that begin together.
#pragma once

#include <functional>

namespace hash_table {

/// Calls `work(0)`, `work(1)`, … each on a thread of its own, pinned to its CPU, once all of them run; returns when all
/// are done.
void runTogether(int threads, const std::function<void(int)>& work);

}  // namespace hash_table
