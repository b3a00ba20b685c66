// SPDX-License-Identifier: Apache-2.0
/// Short forms for tests to write bytes.
#pragma once

#include <initializer_list>

#include "send_buffer/bytes.h"

namespace send_buffer {

inline Bytes bytes(std::initializer_list<int> numbers) {
    Bytes result;
    for (const int number : numbers) {
        result.push_back(static_cast<std::byte>(number));
    }
    return result;
}

inline Bytes copyOf(ByteView view) { return {view.begin(), view.end()}; }

inline Bytes copyOf(std::string_view text) { return copyOf(viewOf(text)); }

}  // namespace send_buffer
