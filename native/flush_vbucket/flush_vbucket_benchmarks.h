// SPDX-License-Identifier: Apache-2.0
/// The benchmarks of this suite, by what they do.
#pragma once

namespace flush_vbucket {

void registerFlushBenchmarks();
void registerQueueDirtyBenchmarks();

}  // namespace flush_vbucket
