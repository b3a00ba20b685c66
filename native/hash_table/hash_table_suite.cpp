// SPDX-License-Identifier: Apache-2.0
/// The suite `hash_table`: the cost of keeping a table's statistics for the threads that change the table.
#include <string>

#include "harness/pinning.h"
#include "harness/suite.h"
#include "hash_table/hash_table_benchmarks.h"
#include "hash_table/selected_statistics.h"
#include "hash_table/statistics_topology.h"
#include "hash_table/worlds.h"

namespace hash_table {
namespace {

void registerBenchmarks() {
    registerTableBenchmarks();
    registerStatisticsBenchmarks();
}

}  // namespace

void setThreads(benchgate::Registered* registered) {
    const auto cpus = static_cast<int>(benchgate::allowedCpus().size());
    registered->Iterations(itemsPerThread)->Threads(1);
    if (cpus > 1) {
        registered->Threads(cpus);
    }
}

}  // namespace hash_table

benchgate::Suite benchgate::describeSuite() {
    return {.name = "hash_table",
            .variant = std::string{hash_table::SelectedStatistics::variant},
            .registerBenchmarks = hash_table::registerBenchmarks,
            .options = {{.name = "llcs",
                         .set = hash_table::setLastLevelCaches,
                         .help = "number of last-level caches that per_llc makes stripes for; default: the machine's"}},
            .aliases = {{.shorthand = "HTB/", .prefix = "HashTableBench/"}}};
}
