// SPDX-License-Identifier: Apache-2.0
/// The CPUs of the machine, and what they share: cores, last-level caches, NUMA nodes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace benchgate {

/// One logical CPU that is online. Cores, caches and nodes are numbered from 0 without gaps, in the order of their
/// first CPUs.
struct Cpu {
    /// The system's number of the CPU, as in sched_setaffinity().
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
    /// Logical CPUs of the core that has the most.
    int threadsPerCore = 1;
    /// False if the system does not report which CPUs share a cache. All CPUs then count as sharing one.
    bool knowsCaches = false;
};

/// Reads the system's CPUs below `root`. Never throws, whatever the files contain. If the cache or the node of any CPU
/// is missing or unreadable, all CPUs count as sharing one; if the core of any CPU is, each CPU counts as a core.
Topology readTopology(const std::filesystem::path& root = "/sys/devices/system");

/// Returns the topology as a process sees it that may use only the CPUs `ids`, with cores, caches and nodes renumbered.
/// CPUs that the topology does not have are left out; if none remains, the topology is returned unchanged.
Topology onlyCpus(const Topology& topology, const std::vector<int>& ids);

/// Returns the same CPUs with that many last-level caches, but at least 1 and at most one per CPU. The caches are of
/// equal size as far as possible and keep neighbours together: first the CPUs of a real cache, then those of a core.
Topology withLastLevelCaches(Topology topology, int count);

/// Describes the topology in one line, e.g. `2 CPUs, 2 cores, 1 last-level cache, 1 NUMA node`, or `unknown last-level
/// caches`.
std::string describeTopology(const Topology& topology);

}  // namespace benchgate
