// SPDX-License-Identifier: Apache-2.0
#include "executor/mock_taskable.h"

namespace executor {

MockTaskable::MockTaskable() = default;
MockTaskable::~MockTaskable() = default;

}  // namespace executor
