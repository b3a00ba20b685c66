/// The benchmarks of this suite.
#pragma once

namespace send_buffer {

void registerSetBenchmarks();

}  // namespace send_buffer
