// SPDX-License-Identifier: Apache-2.0
/// Reference checks that every variant and pool must pass before it is timed.
#pragma once

#include "harness/checked_benchmark.h"

namespace executor {

/// Checks that the selected owner answers like the reference: GID 0, high priority until it is changed, not shut down.
benchgate::Mismatch checkTaskable(int threads);

/// Checks that each task runs once and is reported once, and that the tasks together compute what a serial loop
/// computes.
benchgate::Mismatch checkPureFollyOneShot(int threads);
benchgate::Mismatch checkCB3OneShot(int threads);

/// Checks that every timeout can be scheduled, moved and cancelled, and that none expires early.
benchgate::Mismatch checkPureFollyTimeouts(int threads);
benchgate::Mismatch checkCB3Timeouts(int threads);

}  // namespace executor
