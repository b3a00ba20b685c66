#include "harness/provenance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace benchgate {
namespace {

std::map<std::string, std::string> stamp(std::string_view revision, const Pinning& pinning) {
    const Suite suite{.name = "executor", .variant = "null_taskable", .registerBenchmarks = nullptr};
    const auto entries = provenance(suite, pinning, revision);
    return {entries.begin(), entries.end()};
}

const Pinning twoCpus{.isPermitted = true, .cpus = {2, 5}};

TEST(ProvenanceTest, NamesSuiteVariantAndRevision) {
    const auto context = stamp("4177aa71d", twoCpus);

    EXPECT_EQ(context.at("benchgate_suite"), "executor");
    EXPECT_EQ(context.at("benchgate_variant"), "null_taskable");
    EXPECT_EQ(context.at("benchgate_revision"), "4177aa71d");
}

TEST(ProvenanceTest, SaysUnknownWhenNoRevisionWasGiven) {
    EXPECT_EQ(stamp("", twoCpus).at("benchgate_revision"), "unknown");
}

TEST(ProvenanceTest, ListsThePinnedCpus) { EXPECT_EQ(stamp("", twoCpus).at("benchgate_pinned_cpus"), "2,5"); }

TEST(ProvenanceTest, AdmitsWhenPinningWasRefused) {
    const Pinning refused{.isPermitted = false, .cpus = {2, 5}};

    EXPECT_EQ(stamp("", refused).at("benchgate_pinned_cpus"), "refused by the system");
}

TEST(ProvenanceTest, EveryKeyIsItsOwnAndHasAValue) {
    const auto context = stamp("", twoCpus);

    EXPECT_EQ(context.size(), 9U);
    EXPECT_TRUE(std::all_of(context.begin(), context.end(), [](const auto& entry) {
        return entry.first.starts_with("benchgate_") && !entry.second.empty();
    }));
}

TEST(ProvenanceTest, KnowsTheCompilerThatBuiltIt) {
    EXPECT_NE(stamp("", twoCpus).at("benchgate_compiler").find('.'), std::string::npos);
}

}  // namespace
}  // namespace benchgate
