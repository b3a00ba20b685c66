// SPDX-License-Identifier: Apache-2.0
/// The suite `known_effects`: work with different kinds of noise, slowed down by an exact percentage.
#include "harness/suite.h"
#include "known_effects/knob.h"
#include "known_effects/known_effects_benchmarks.h"

namespace {

/// Benchmarks with threads come last, because shared_ptr counts references in a slower way once a program has started a
/// thread.
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
    return {
        .name = "known_effects",
        .variant = "knob",
        .registerBenchmarks = registerBenchmarks,
        .options = {
            {.name = "slower",
             .set = known_effects::setSlower,
             .help = "percent more work per iteration, 0 to 100 in steps of 0.5; the extra items are not counted"}}};
}
