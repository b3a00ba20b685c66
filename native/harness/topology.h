// SPDX-License-Identifier: Apache-2.0
/// Which CPUs share what: cores, last-level caches, NUMA nodes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace benchgate {

/// One logical CPU that is online. Cores, caches and nodes are numbered from 0 without gaps, in the order of their
/// first CPUs.
struct Cpu {
    /// The system's number, as in sched_setaffinity().
    int id = 0;
    int core = 0;
    int lastLevelCache = 0;
    int node = 0;
};

struct Topology {
    /// Ascending by id; at least one.
    std::vector<Cpu> cpus;
    int cores = 1;
    int lastLevelCaches = 1;
    int nodes = 1;
    /// Logical CPUs of the core that has most.
    int threadsPerCore = 1;
    /// False where the system does not tell who shares a cache: then all CPUs are taken to share one.
    bool knowsCaches = false;
};

/// Reads the system's CPUs below `root`; never throws for what it finds there. If a CPU's cache or node is missing or
/// unreadable, one is taken to be shared by all; if its core is, each CPU is taken to be a core.
Topology readTopology(const std::filesystem::path& root = "/sys/devices/system");

/// The topology as a process that may only use the CPUs `ids` sees it, with cores, caches and nodes numbered anew. CPUs
/// that the topology does not have are left out; if none is left, it is returned as it was.
Topology onlyCpus(const Topology& topology, const std::vector<int>& ids);

/// The same CPUs as if they were known to have that many last-level caches, as equal as possible, with neighbours
/// (first those of a cache, then those of a core) together; at least 1, at most one per CPU.
Topology withLastLevelCaches(Topology topology, int count);

/// In one line, e.g. `2 CPUs, 2 cores, 1 last-level cache, 1 NUMA node`, or `unknown last-level caches`.
std::string describeTopology(const Topology& topology);

}  // namespace benchgate
