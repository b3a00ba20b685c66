// SPDX-License-Identifier: Apache-2.0
/// Compression of values with snappy, for the datatype `snappy`.
#pragma once

#include <cstddef>

#include "send_buffer/bytes.h"
#include "send_buffer/protocol.h"

namespace send_buffer {

Bytes compress(ByteView plain);

struct Decompressed {
    /// Success; Invalid if it is not snappy; TooBig if it claims to be longer than the limit, in which case nothing was
    /// allocated.
    Status status = Status::Success;
    RawBuffer plain;
};

Decompressed decompressWithin(std::size_t limit, ByteView compressed);

}  // namespace send_buffer
