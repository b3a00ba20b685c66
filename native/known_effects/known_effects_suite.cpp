// SPDX-License-Identifier: Apache-2.0
/// The suite `known_effects`: work with different kinds of noise, slowed down by an exact percentage.
#include "harness/suite.h"
#include "known_effects/knob.h"
#include "known_effects/known_effects_benchmarks.h"

namespace known_effects {
namespace {

/// Benchmarks with threads come last, because shared_ptr counts references in a slower way once a program has started a
/// thread.
void registerBenchmarks() {
    registerComputingBenchmarks();
    registerMemoryBenchmarks();
    registerHeapBenchmarks();
    registerLookupBenchmarks();
    registerTextBenchmarks();
    registerSystemBenchmarks();
    registerContentionBenchmarks();
}

}  // namespace
}  // namespace known_effects

benchgate::Suite benchgate::describeSuite() {
    return {
        .name = "known_effects",
        .variant = "knob",
        .registerBenchmarks = known_effects::registerBenchmarks,
        .options = {
            {.name = "slower",
             .set = known_effects::setSlower,
             .help = "percent more work per iteration, 0 to 100 in steps of 0.5; the extra items are not counted"}}};
}
