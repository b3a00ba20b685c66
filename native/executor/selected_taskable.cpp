// SPDX-License-Identifier: Apache-2.0
#include "executor/selected_taskable.h"

namespace executor {

std::unique_ptr<Taskable> makeTaskable() { return std::make_unique<SelectedTaskable>(); }

std::string_view taskableVariant() { return SelectedTaskable::variant; }

}  // namespace executor
