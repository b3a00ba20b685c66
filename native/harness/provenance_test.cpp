// SPDX-License-Identifier: Apache-2.0
#include "harness/provenance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace benchgate {
namespace {

std::map<std::string, std::string> stampOf(std::string_view revision, const Pinning& pinning, bool knowsCaches = true) {
    const Suite suite{.name = "executor", .variant = "null_taskable", .registerBenchmarks = nullptr};
    const Topology topology{
        .cpus = {{.id = 2, .core = 0}, {.id = 5, .core = 1}}, .cores = 2, .knowsCaches = knowsCaches};
    const auto entries = provenance(suite, pinning, topology, revision);
    return {entries.begin(), entries.end()};
}

const Pinning twoCpus{.isPermitted = true, .cpus = {2, 5}};

TEST(ProvenanceTest, NamesSuiteVariantAndRevision) {
    const auto context = stampOf("4177aa71d", twoCpus);

    EXPECT_EQ(context.at("benchgate_suite"), "executor");
    EXPECT_EQ(context.at("benchgate_variant"), "null_taskable");
    EXPECT_EQ(context.at("benchgate_revision"), "4177aa71d");
}

TEST(ProvenanceTest, SaysUnknownWhenNoRevisionWasGiven) {
    EXPECT_EQ(stampOf("", twoCpus).at("benchgate_revision"), "unknown");
}

TEST(ProvenanceTest, ListsThePinnedCpus) { EXPECT_EQ(stampOf("", twoCpus).at("benchgate_pinned_cpus"), "2,5"); }

TEST(ProvenanceTest, ReportsThatPinningWasRefused) {
    const Pinning refused{.isPermitted = false, .cpus = {2, 5}};

    EXPECT_EQ(stampOf("", refused).at("benchgate_pinned_cpus"), "refused by the system");
}

TEST(ProvenanceTest, ReportsTheTopology) {
    EXPECT_EQ(stampOf("", twoCpus).at("benchgate_topology"), "2 CPUs, 2 cores, 1 last-level cache, 1 NUMA node");
}

TEST(ProvenanceTest, ReportsUnknownCaches) {
    EXPECT_EQ(stampOf("", twoCpus, false).at("benchgate_topology"),
              "2 CPUs, 2 cores, unknown last-level caches, 1 NUMA node");
}

TEST(ProvenanceTest, EveryKeyIsItsOwnAndHasAValue) {
    const auto context = stampOf("", twoCpus);

    EXPECT_EQ(context.size(), 10U);
    EXPECT_TRUE(std::all_of(context.begin(), context.end(), [](const auto& entry) {
        return entry.first.starts_with("benchgate_") && !entry.second.empty();
    }));
}

TEST(ProvenanceTest, KnowsTheCompilerThatBuiltIt) {
    EXPECT_NE(stampOf("", twoCpus).at("benchgate_compiler").find('.'), std::string::npos);
}

}  // namespace
}  // namespace benchgate
