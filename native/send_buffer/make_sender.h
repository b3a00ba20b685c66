/// Makes the selected variant without telling its type, so that nothing but this recompiles when it changes.
#pragma once

#include <memory>
#include <string_view>

#include "send_buffer/sender.h"

namespace send_buffer {

std::unique_ptr<Sender> makeSender();

/// The selected variant's name in results.
std::string_view senderVariant();

}  // namespace send_buffer
