// SPDX-License-Identifier: Apache-2.0
/// Work on several threads that start together.
#pragma once

#include <functional>

namespace hash_table {

/// Calls `work(0)`, `work(1)`, … on threads of their own, each pinned to its CPU, as soon as all threads run. Returns
/// when all calls have ended.
void runTogether(int threads, const std::function<void(int)>& work);

}  // namespace hash_table
