// SPDX-License-Identifier: Apache-2.0
#include "hash_table/run_together.h"

#include <barrier>
#include <cstddef>
#include <thread>
#include <vector>

#include "harness/pinning.h"

namespace hash_table {

void runTogether(int threads, const std::function<void(int)>& work) {
    std::barrier start{threads};
    std::vector<std::jthread> running;
    running.reserve(static_cast<std::size_t>(threads));
    for (int thread = 0; thread < threads; ++thread) {
        running.emplace_back([&, thread] {
            benchgate::pinForGood(benchgate::cpuForThread(thread));
            start.arrive_and_wait();
            work(thread);
        });
    }
}

}  // namespace hash_table
