// SPDX-License-Identifier: Apache-2.0
#include "executor/null_taskable.h"

namespace executor {

void NullTaskable::logQTime(TaskId /*task*/, Duration /*waited*/) {}

void NullTaskable::logRunTime(TaskId /*task*/, Duration /*ran*/) {}

}  // namespace executor
