// SPDX-License-Identifier: Apache-2.0
#include "harness/topology.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

namespace benchgate {
namespace {

namespace fs = std::filesystem;

// Far more than any system has; a list with higher numbers is not a list of CPUs.
constexpr int maxCpuId = 1 << 16;

std::optional<int> parseNumber(std::string_view text) {
    int number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || stop != end || number < 0) {
        return std::nullopt;
    }
    return number;
}

/// Adds the CPUs of `3` or `0-3` to the list. Returns false if the text has neither form.
bool addRange(std::string_view text, std::vector<int>& cpus) {
    const std::size_t dash = text.find('-');
    const auto first = parseNumber(text.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parseNumber(text.substr(dash + 1));
    if (!first || !last || *first > *last || *last > maxCpuId) {
        return false;
    }
    for (int cpu = *first; cpu <= *last; ++cpu) {
        cpus.push_back(cpu);
    }
    return true;
}

/// Parses a list of the kernel such as `0-3,8`, into ascending order. Returns nothing if the text is not a list; an
/// empty text is a list without CPUs.
std::optional<std::vector<int>> parseCpuList(std::string_view text) {
    if (text.ends_with(',')) {
        return std::nullopt;
    }
    std::vector<int> cpus;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        if (!addRange(text.substr(0, comma), cpus)) {
            return std::nullopt;
        }
        text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    }
    std::sort(cpus.begin(), cpus.end());
    cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
    return cpus;
}

std::optional<std::string> readLine(const fs::path& file) {
    std::ifstream in{file};
    std::string line;
    if (!std::getline(in, line)) {
        return std::nullopt;
    }
    return line;
}

/// Returns the folder's entries whose name is `prefix` and a number, by number.
std::map<int, fs::path> numberedEntries(const fs::path& folder, std::string_view prefix) {
    std::map<int, fs::path> entries;
    std::error_code error;
    for (fs::directory_iterator entry{folder, error}; !error && entry != fs::directory_iterator{};
         entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        if (!name.starts_with(prefix)) {
            continue;
        }
        if (const auto number = parseNumber(std::string_view{name}.substr(prefix.size()))) {
            entries.emplace(*number, entry->path());
        }
    }
    return entries;
}

/// A text that is equal for CPUs that share something and different for all others; nothing if it is unknown.
using Sharers = std::optional<std::string>;

/// Returns the list of CPUs in the file, if it is valid and contains the CPU.
Sharers readSharers(const fs::path& file, int cpu) {
    auto line = readLine(file);
    const auto cpus = parseCpuList(line.value_or(""));
    if (!cpus || !std::binary_search(cpus->begin(), cpus->end(), cpu)) {
        return std::nullopt;
    }
    return line;
}

std::vector<int> readOnlineCpus(const fs::path& root) {
    auto cpus = parseCpuList(readLine(root / "cpu/online").value_or("")).value_or(std::vector<int>{});
    if (cpus.empty()) {
        for (const auto& [id, folder] : numberedEntries(root / "cpu", "cpu")) {
            cpus.push_back(id);
        }
    }
    if (cpus.empty()) {
        cpus.push_back(0);
    }
    return cpus;
}

fs::path folderOf(const fs::path& root, int cpu) { return root / "cpu" / ("cpu" + std::to_string(cpu)); }

Sharers readCore(const fs::path& root, int cpu) {
    const fs::path folder = folderOf(root, cpu) / "topology";
    // Two names of the same list: the second is the older one.
    for (const char* const file : {"core_cpus_list", "thread_siblings_list"}) {
        if (auto siblings = readSharers(folder / file, cpu)) {
            return siblings;
        }
    }
    const auto package = parseNumber(readLine(folder / "physical_package_id").value_or(""));
    const auto core = parseNumber(readLine(folder / "core_id").value_or(""));
    if (!package || !core) {
        return std::nullopt;
    }
    return "package " + std::to_string(*package) + " core " + std::to_string(*core);
}

Sharers readLastLevelCache(const fs::path& root, int cpu) {
    int lastLevel = 0;
    Sharers sharers;
    for (const auto& [index, folder] : numberedEntries(folderOf(root, cpu) / "cache", "index")) {
        const auto level = parseNumber(readLine(folder / "level").value_or(""));
        if (!level) {
            return std::nullopt;  // It may be the last level.
        }
        if (*level > lastLevel && readLine(folder / "type") != "Instruction") {
            lastLevel = *level;
            sharers = readSharers(folder / "shared_cpu_list", cpu);
        }
    }
    return sharers;
}

Sharers readNode(const fs::path& root, int cpu) {
    for (const auto& [node, folder] : numberedEntries(root / "node", "node")) {
        if (readSharers(folder / "cpulist", cpu)) {
            return folder.filename().string();
        }
    }
    return std::nullopt;
}

/// A number for what each CPU shares with others (core, cache or node), in the order of the first CPU of each.
struct Numbering {
    std::vector<int> numbers;
    int count = 0;
};

/// Returns nothing if it is unknown for any CPU.
std::optional<Numbering> numberSharers(const fs::path& root, const std::vector<int>& cpus,
                                       Sharers (*read)(const fs::path&, int)) {
    std::map<std::string, int> known;
    Numbering numbering;
    for (const int cpu : cpus) {
        auto sharers = read(root, cpu);
        if (!sharers) {
            return std::nullopt;
        }
        const auto [place, isNew] = known.emplace(*std::move(sharers), static_cast<int>(known.size()));
        numbering.numbers.push_back(place->second);
    }
    numbering.count = static_cast<int>(known.size());
    return numbering;
}

Numbering allInOne(std::size_t cpus) { return {.numbers = std::vector<int>(cpus, 0), .count = 1}; }

Numbering eachItsOwn(std::size_t cpus) {
    Numbering numbering{.numbers = std::vector<int>(cpus), .count = static_cast<int>(cpus)};
    std::iota(numbering.numbers.begin(), numbering.numbers.end(), 0);
    return numbering;
}

int mostOfOne(const Numbering& numbering) {
    std::vector<int> sizes(static_cast<std::size_t>(numbering.count), 0);
    for (const int number : numbering.numbers) {
        ++sizes[static_cast<std::size_t>(number)];
    }
    return *std::max_element(sizes.begin(), sizes.end());
}

/// Renumbers one of the CPUs' members without gaps.
Numbering renumber(std::vector<Cpu>& cpus, int Cpu::*shared) {
    std::map<int, int> known;
    Numbering numbering;
    for (Cpu& cpu : cpus) {
        cpu.*shared = known.emplace(cpu.*shared, static_cast<int>(known.size())).first->second;
        numbering.numbers.push_back(cpu.*shared);
    }
    numbering.count = static_cast<int>(known.size());
    return numbering;
}

std::string counted(int count, const std::string& noun) {
    return std::to_string(count) + ' ' + noun + (count == 1 ? "" : "s");
}

}  // namespace

Topology readTopology(const fs::path& root) {
    const std::vector<int> ids = readOnlineCpus(root);
    const auto cores = numberSharers(root, ids, readCore).value_or(eachItsOwn(ids.size()));
    const auto caches = numberSharers(root, ids, readLastLevelCache);
    const auto lastLevelCaches = caches.value_or(allInOne(ids.size()));
    const auto nodes = numberSharers(root, ids, readNode).value_or(allInOne(ids.size()));

    Topology topology{.cpus = {},
                      .cores = cores.count,
                      .lastLevelCaches = lastLevelCaches.count,
                      .nodes = nodes.count,
                      .threadsPerCore = mostOfOne(cores),
                      .knowsCaches = caches.has_value()};
    for (std::size_t i = 0; i < ids.size(); ++i) {
        topology.cpus.push_back({.id = ids[i],
                                 .core = cores.numbers[i],
                                 .lastLevelCache = lastLevelCaches.numbers[i],
                                 .node = nodes.numbers[i]});
    }
    return topology;
}

Topology onlyCpus(const Topology& topology, const std::vector<int>& ids) {
    Topology left = topology;
    std::erase_if(left.cpus, [&ids](const Cpu& cpu) { return std::find(ids.begin(), ids.end(), cpu.id) == ids.end(); });
    if (left.cpus.empty()) {
        return topology;
    }
    const Numbering cores = renumber(left.cpus, &Cpu::core);
    left.cores = cores.count;
    left.threadsPerCore = mostOfOne(cores);
    left.lastLevelCaches = renumber(left.cpus, &Cpu::lastLevelCache).count;
    left.nodes = renumber(left.cpus, &Cpu::node).count;
    return left;
}

Topology withLastLevelCaches(Topology topology, int count) {
    std::vector<Cpu*> neighbours;
    for (Cpu& cpu : topology.cpus) {
        neighbours.push_back(&cpu);
    }
    std::sort(neighbours.begin(), neighbours.end(), [](const Cpu* left, const Cpu* right) {
        return std::tie(left->lastLevelCache, left->core, left->id) <
               std::tie(right->lastLevelCache, right->core, right->id);
    });
    const auto cpus = static_cast<int>(neighbours.size());
    const int caches = std::max(1, std::min(count, cpus));
    for (int i = 0; i < cpus; ++i) {
        neighbours[static_cast<std::size_t>(i)]->lastLevelCache = i * caches / cpus;
    }
    topology.lastLevelCaches = caches;
    topology.knowsCaches = true;
    return topology;
}

std::string describeTopology(const Topology& topology) {
    return counted(static_cast<int>(topology.cpus.size()), "CPU") + ", " + counted(topology.cores, "core") + ", " +
           (topology.knowsCaches ? counted(topology.lastLevelCaches, "last-level cache")
                                 : std::string{"unknown last-level caches"}) +
           ", " + counted(topology.nodes, "NUMA node");
}

}  // namespace benchgate
