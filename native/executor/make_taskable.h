/// Makes the selected variant without telling its type, so that nothing but this recompiles when it changes.
#pragma once

#include <memory>
#include <string_view>

#include "executor/taskable.h"

namespace executor {

std::unique_ptr<Taskable> makeTaskable();

/// The selected variant's name in results.
std::string_view taskableVariant();

}  // namespace executor
