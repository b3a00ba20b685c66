// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/compression.h"

#include <snappy.h>

namespace send_buffer {
namespace {

char* charactersOf(RawBuffer& buffer) { return static_cast<char*>(static_cast<void*>(buffer.first(0).data())); }

}  // namespace

Bytes compress(ByteView plain) {
    RawBuffer compressed{snappy::MaxCompressedLength(plain.size())};
    std::size_t length = 0;
    snappy::RawCompress(textOf(plain).data(), plain.size(), charactersOf(compressed), &length);
    const ByteView whole = compressed.view().first(length);
    return {whole.begin(), whole.end()};
}

Decompressed decompressWithin(std::size_t limit, ByteView compressed) {
    const std::string_view text = textOf(compressed);
    std::size_t length = 0;
    if (!snappy::GetUncompressedLength(text.data(), text.size(), &length)) {
        return {.status = Status::Invalid, .plain = {}};
    }
    if (length > limit) {
        return {.status = Status::TooBig, .plain = {}};
    }
    // Checked before memory is allocated, because a few bytes may claim to be many.
    if (!snappy::IsValidCompressedBuffer(text.data(), text.size())) {
        return {.status = Status::Invalid, .plain = {}};
    }
    Decompressed result{.status = Status::Success, .plain = RawBuffer{length}};
    if (!snappy::RawUncompress(text.data(), text.size(), charactersOf(result.plain))) {
        return {.status = Status::Invalid, .plain = {}};
    }
    return result;
}

}  // namespace send_buffer
