// SPDX-License-Identifier: Apache-2.0
/// The suite `known_effects`: work of differing noise, made slower by exactly as much as one asks for.
#include "harness/suite.h"
#include "known_effects/knob.h"
#include "known_effects/known_effects_benchmarks.h"

namespace {

/// Those with threads come last: a program that has had some counts references to shared objects in a slower way.
void registerBenchmarks() {
    known_effects::registerComputingBenchmarks();
    known_effects::registerMemoryBenchmarks();
    known_effects::registerHeapBenchmarks();
    known_effects::registerLookupBenchmarks();
    known_effects::registerTextBenchmarks();
    known_effects::registerSystemBenchmarks();
    known_effects::registerContentionBenchmarks();
}

}  // namespace

benchgate::Suite benchgate::describeSuite() {
    return {.name = "known_effects",
            .variant = "knob",
            .registerBenchmarks = registerBenchmarks,
            .options = {{.name = "slower",
                         .set = known_effects::setSlower,
                         .help = "percent more items per iteration, 0 to 100 in steps of 0.5, reported as if none"}}};
}
