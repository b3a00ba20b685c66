// SPDX-License-Identifier: Apache-2.0
/// Snappy, as values of datatype `snappy` are compressed.
#pragma once

#include <cstddef>

#include "send_buffer/bytes.h"
#include "send_buffer/protocol.h"

namespace send_buffer {

Bytes compress(ByteView plain);

struct Decompressed {
    /// Success, Invalid if it is not snappy, TooBig if it says to be longer than the limit: then nothing was allocated.
    Status status = Status::Success;
    RawBuffer plain;
};

Decompressed decompressWithin(std::size_t limit, ByteView compressed);

}  // namespace send_buffer
