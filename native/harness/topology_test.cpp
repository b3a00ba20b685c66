// SPDX-License-Identifier: Apache-2.0
#include "harness/topology.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace benchgate {
namespace {

namespace fs = std::filesystem;

/// A tree of files like the kernel's, in a folder of its own that is removed at the end.
class FakeSystem {
   public:
    FakeSystem() : root_{fs::path{testing::TempDir()} / ("topology_" + std::to_string(getpid()))} {
        fs::remove_all(root_);
    }
    ~FakeSystem() { fs::remove_all(root_); }
    FakeSystem(const FakeSystem&) = delete;
    FakeSystem& operator=(const FakeSystem&) = delete;
    FakeSystem(FakeSystem&&) = delete;
    FakeSystem& operator=(FakeSystem&&) = delete;

    void write(const std::string& file, const std::string& line) const {
        fs::create_directories((root_ / file).parent_path());
        std::ofstream{root_ / file} << line << '\n';
    }
    void online(const std::string& cpus) const { write("cpu/online", cpus); }
    void core(int cpu, const std::string& siblings) const {
        write(folderOf(cpu) + "/topology/core_cpus_list", siblings);
    }
    void cache(int cpu, int index, const std::string& level, const std::string& type,
               const std::string& sharers) const {
        const std::string folder = folderOf(cpu) + "/cache/index" + std::to_string(index);
        write(folder + "/level", level);
        write(folder + "/type", type);
        write(folder + "/shared_cpu_list", sharers);
    }
    void node(int number, const std::string& cpus) const {
        write("node/node" + std::to_string(number) + "/cpulist", cpus);
    }
    [[nodiscard]] Topology read() const { return readTopology(root_); }

    static std::string folderOf(int cpu) { return "cpu/cpu" + std::to_string(cpu); }

   private:
    fs::path root_;
};

std::vector<int> each(const Topology& topology, int Cpu::*member) {
    std::vector<int> values;
    for (const Cpu& cpu : topology.cpus) {
        values.push_back(cpu.*member);
    }
    return values;
}

using Numbers = std::vector<int>;

/// Adds CPUs that are a core each, with their own caches of level 1 and 2, and the given one of level 3.
void addCores(const FakeSystem& system, const std::vector<int>& cpus, const std::string& level3) {
    for (const int cpu : cpus) {
        const std::string own = std::to_string(cpu);
        system.core(cpu, own);
        system.cache(cpu, 0, "1", "Data", own);
        system.cache(cpu, 1, "1", "Instruction", own);
        system.cache(cpu, 2, "2", "Unified", own);
        system.cache(cpu, 3, "3", "Unified", level3);
    }
}

TEST(TopologyTest, CpusThatShareTheHighestLevelShareOneLastLevelCache) {
    const FakeSystem system;
    system.online("0-3");
    addCores(system, {0, 1, 2, 3}, "0-3");

    const Topology topology = system.read();

    EXPECT_EQ(each(topology, &Cpu::id), (Numbers{0, 1, 2, 3}));
    EXPECT_EQ(each(topology, &Cpu::lastLevelCache), (Numbers{0, 0, 0, 0}));
    EXPECT_EQ(topology.lastLevelCaches, 1);
    EXPECT_EQ(topology.cores, 4);
    EXPECT_EQ(topology.threadsPerCore, 1);
    EXPECT_TRUE(topology.knowsCaches);
}

TEST(TopologyTest, TwoPackagesHaveTwoCachesAndTheSameCoreIdsMeanOtherCores) {
    const FakeSystem system;
    system.online("0-3");
    for (int cpu = 0; cpu < 4; ++cpu) {
        const bool isFirst = cpu < 2;
        system.write(FakeSystem::folderOf(cpu) + "/topology/physical_package_id", isFirst ? "0" : "1");
        system.write(FakeSystem::folderOf(cpu) + "/topology/core_id", std::to_string(cpu % 2));
        system.cache(cpu, 0, "3", "Unified", isFirst ? "0-1" : "2-3");
    }

    const Topology topology = system.read();

    EXPECT_EQ(each(topology, &Cpu::core), (Numbers{0, 1, 2, 3}));
    EXPECT_EQ(each(topology, &Cpu::lastLevelCache), (Numbers{0, 0, 1, 1}));
    EXPECT_EQ(topology.lastLevelCaches, 2);
}

TEST(TopologyTest, OnePackageCanHaveSeveralLastLevelCaches) {
    const FakeSystem system;
    system.online("0-7");
    addCores(system, {0, 1, 4, 5}, "0-1,4-5");
    addCores(system, {2, 3, 6, 7}, "2-3,6-7");

    const Topology topology = system.read();

    EXPECT_EQ(each(topology, &Cpu::lastLevelCache), (Numbers{0, 0, 1, 1, 0, 0, 1, 1}));
    EXPECT_EQ(topology.lastLevelCaches, 2);
}

TEST(TopologyTest, SiblingsAreOneCore) {
    const FakeSystem system;
    system.online("0-3");
    system.core(0, "0,2");
    system.core(1, "1,3");
    system.core(2, "0,2");
    system.core(3, "1,3");

    const Topology topology = system.read();

    EXPECT_EQ(each(topology, &Cpu::core), (Numbers{0, 1, 0, 1}));
    EXPECT_EQ(topology.cores, 2);
    EXPECT_EQ(topology.threadsPerCore, 2);
}

TEST(TopologyTest, OlderKernelsCallSiblingsByAnotherName) {
    const FakeSystem system;
    system.online("0-1");
    system.write("cpu/cpu0/topology/thread_siblings_list", "0-1");
    system.write("cpu/cpu1/topology/thread_siblings_list", "0-1");

    EXPECT_EQ(system.read().cores, 1);
}

TEST(TopologyTest, WithoutAListSiblingsAreFoundByPackageAndCoreId) {
    const FakeSystem system;
    system.online("0-1");
    for (const std::string cpu : {"cpu/cpu0", "cpu/cpu1"}) {
        system.write(cpu + "/topology/physical_package_id", "0");
        system.write(cpu + "/topology/core_id", "5");
    }

    EXPECT_EQ(system.read().threadsPerCore, 2);
}

TEST(TopologyTest, UnknownCoresAreOnePerCpu) {
    const FakeSystem system;
    system.online("0-2");
    system.core(0, "0-1");

    EXPECT_EQ(each(system.read(), &Cpu::core), (Numbers{0, 1, 2}));
    EXPECT_EQ(system.read().cores, 3);
}

TEST(TopologyTest, CpusThatAreOfflineAreLeftOutAndLeaveNoGapInTheNumbers) {
    const FakeSystem system;
    system.online("0,4-5");
    addCores(system, {0}, "0");
    addCores(system, {1, 2, 3}, "1-3");
    addCores(system, {4, 5}, "4-5");

    const Topology topology = system.read();

    EXPECT_EQ(each(topology, &Cpu::id), (Numbers{0, 4, 5}));
    EXPECT_EQ(each(topology, &Cpu::core), (Numbers{0, 1, 2}));
    EXPECT_EQ(each(topology, &Cpu::lastLevelCache), (Numbers{0, 1, 1}));
}

TEST(TopologyTest, WithoutACacheFolderAllCpusShareOneUnknownCache) {
    const FakeSystem system;
    system.online("0-1");
    system.core(0, "0");
    system.core(1, "1");

    const Topology topology = system.read();

    EXPECT_EQ(each(topology, &Cpu::lastLevelCache), (Numbers{0, 0}));
    EXPECT_EQ(topology.lastLevelCaches, 1);
    EXPECT_FALSE(topology.knowsCaches);
}

TEST(TopologyTest, ACacheOfInstructionsIsNoLastLevelCache) {
    const FakeSystem system;
    system.online("0-1");
    for (int cpu = 0; cpu < 2; ++cpu) {
        system.cache(cpu, 0, "1", "Data", std::to_string(cpu));
        system.cache(cpu, 1, "2", "Instruction", "0-1");
    }

    EXPECT_EQ(system.read().lastLevelCaches, 2);
}

TEST(TopologyTest, OneCpuWithoutACacheMakesAllCachesUnknown) {
    const FakeSystem system;
    system.online("0-2");
    addCores(system, {0}, "0");
    addCores(system, {1}, "1");

    const Topology topology = system.read();

    EXPECT_EQ(topology.lastLevelCaches, 1);
    EXPECT_FALSE(topology.knowsCaches);
}

TEST(TopologyTest, CpusBelongToTheNodeThatListsThem) {
    const FakeSystem system;
    system.online("0-3");
    system.node(0, "0,2");
    system.node(1, "");
    system.node(3, "1,3");

    const Topology topology = system.read();

    EXPECT_EQ(each(topology, &Cpu::node), (Numbers{0, 1, 0, 1}));
    EXPECT_EQ(topology.nodes, 2);
}

class GarbledTopologyTest : public testing::TestWithParam<const char*> {};

TEST_P(GarbledTopologyTest, GarbageInAnyFileCountsAsMissing) {
    const std::string garbage = GetParam();
    const FakeSystem system;
    system.online("0-1");
    for (int cpu = 0; cpu < 2; ++cpu) {
        system.core(cpu, garbage);
        system.write(FakeSystem::folderOf(cpu) + "/topology/core_id", garbage);
        system.write(FakeSystem::folderOf(cpu) + "/topology/physical_package_id", garbage);
        system.cache(cpu, 0, "1", "Data", std::to_string(cpu));
        system.cache(cpu, 1, "2", "Unified", garbage);
    }
    system.node(0, garbage);

    const Topology topology = system.read();

    EXPECT_EQ(topology.cores, 2);
    EXPECT_FALSE(topology.knowsCaches);
    EXPECT_EQ(topology.nodes, 1);
}

TEST_P(GarbledTopologyTest, WithoutAListOfCpusTheirFoldersCount) {
    const FakeSystem system;
    system.online(GetParam());
    addCores(system, {0, 3}, "0,3");

    EXPECT_EQ(each(system.read(), &Cpu::id), (Numbers{0, 3}));
}

INSTANTIATE_TEST_SUITE_P(Texts, GarbledTopologyTest,
                         testing::Values("", " ", "x", "-", "-1", "3-", "1-0", "0-1,", "0,,1", "0-1 ", "0x3", "1.5",
                                         "99999999999999999999", "0-2147483647", "\xff\xfe"));

TEST(TopologyTest, ALevelThatCannotBeReadMayBeTheLastOne) {
    const FakeSystem system;
    system.online("0-1");
    addCores(system, {0, 1}, "0-1");
    system.write("cpu/cpu1/cache/index3/level", "three");

    EXPECT_FALSE(system.read().knowsCaches);
}

TEST(TopologyTest, AnEmptySystemHasOneCpu) {
    const FakeSystem system;

    const Topology topology = system.read();

    EXPECT_EQ(each(topology, &Cpu::id), (Numbers{0}));
    EXPECT_EQ(topology.cores, 1);
}

TEST(TopologyTest, TheRealSystemHasCpusAndNumbersWithoutGaps) {
    const Topology topology = readTopology();

    ASSERT_FALSE(topology.cpus.empty());
    for (const Cpu& cpu : topology.cpus) {
        EXPECT_LT(cpu.core, topology.cores);
        EXPECT_LT(cpu.lastLevelCache, topology.lastLevelCaches);
        EXPECT_LT(cpu.node, topology.nodes);
    }
}

}  // namespace
}  // namespace benchgate
