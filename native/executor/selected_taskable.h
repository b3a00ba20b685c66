// SPDX-License-Identifier: Apache-2.0
/// The variant that the suite measures: the one line to change.
#pragma once

#include "executor/mock_taskable.h"
#include "executor/null_taskable.h"

namespace executor {

using SelectedTaskable = MockTaskable;

}  // namespace executor
