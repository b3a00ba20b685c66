// SPDX-License-Identifier: Apache-2.0
#include "harness/provenance.h"

namespace benchgate {
namespace {

std::string describePinning(const Pinning& pinning) {
    if (!pinning.isPermitted) {
        return "refused by the system";
    }
    std::string cpus;
    for (const int cpu : pinning.cpus) {
        if (!cpus.empty()) {
            cpus += ',';
        }
        cpus += std::to_string(cpu);
    }
    return cpus;
}

}  // namespace

std::vector<ContextEntry> provenance(const Suite& suite, const Pinning& pinning, const Topology& topology,
                                     std::string_view revision) {
    return {
        {"benchgate_suite", suite.name},
        {"benchgate_variant", suite.variant},
        {"benchgate_revision", revision.empty() ? "unknown" : std::string{revision}},
        {"benchgate_compiler", BENCHGATE_COMPILER},
        {"benchgate_compiler_flags", BENCHGATE_COMPILER_FLAGS},
        {"benchgate_build_type", BENCHGATE_BUILD_TYPE},
        // The library's own `library_build_type` says only whether it was compiled with NDEBUG.
        {"benchgate_library_version", BENCHGATE_LIBRARY_VERSION},
        {"benchgate_library_build_type", BENCHGATE_LIBRARY_BUILD_TYPE},
        {"benchgate_pinned_cpus", describePinning(pinning)},
        {"benchgate_topology", describeTopology(topology)},
    };
}

std::optional<std::string> buildWarning() {
#ifdef __OPTIMIZE__
    return std::nullopt;
#else
    return "this suite was compiled without optimisation; build the preset `measure` for meaningful times";
#endif
}

}  // namespace benchgate
