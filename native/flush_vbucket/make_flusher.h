/// Makes the flusher of the selected variant without telling its type.
#pragma once

#include <memory>
#include <string_view>

#include "flush_vbucket/flusher.h"

namespace flush_vbucket {

std::unique_ptr<Flusher> makeFlusher();

/// The selected variant's name in results.
std::string_view callbackVariant();

}  // namespace flush_vbucket
