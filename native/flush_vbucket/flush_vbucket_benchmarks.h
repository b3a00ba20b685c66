// SPDX-License-Identifier: Apache-2.0
/// The registration of this suite's benchmarks, one function per source.
#pragma once

namespace flush_vbucket {

void registerFlushBenchmarks();
void registerQueueDirtyBenchmarks();

}  // namespace flush_vbucket
