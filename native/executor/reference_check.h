// SPDX-License-Identifier: Apache-2.0
/// What every variant and pool must answer before it is timed.
#pragma once

#include "harness/checked_benchmark.h"

namespace executor {

/// The selected owner answers like the reference: GID 0, priority high until told otherwise, running.
benchgate::Mismatch checkTaskable(int threads);

/// Each task runs exactly once and is reported exactly once, and together they compute what a serial loop computes.
benchgate::Mismatch checkPureFollyOneShot(int threads);
benchgate::Mismatch checkCB3OneShot(int threads);

/// Every timeout can be scheduled, moved and cancelled, and none expires before its time.
benchgate::Mismatch checkPureFollyTimeouts(int threads);
benchgate::Mismatch checkCB3Timeouts(int threads);

}  // namespace executor
