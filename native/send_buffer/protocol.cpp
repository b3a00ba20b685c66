// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/protocol.h"

namespace send_buffer {

void appendHeader(Bytes& to, const Header& header) {
    appendInteger(to, header.magic);
    appendInteger(to, header.opcode);
    appendInteger(to, header.keyLength);
    appendInteger(to, header.extrasLength);
    appendInteger(to, header.datatype);
    appendInteger(to, header.vbucketOrStatus);
    appendInteger(to, header.bodyLength);
    appendInteger(to, header.opaque);
    appendInteger(to, header.cas);
}

Header decodeHeader(std::span<const std::byte, Header::size> bytes) {
    return {.magic = readInteger<std::uint8_t>(bytes),
            .opcode = readInteger<std::uint8_t>(bytes.subspan(1)),
            .keyLength = readInteger<std::uint16_t>(bytes.subspan(2)),
            .extrasLength = readInteger<std::uint8_t>(bytes.subspan(4)),
            .datatype = readInteger<std::uint8_t>(bytes.subspan(5)),
            .vbucketOrStatus = readInteger<std::uint16_t>(bytes.subspan(6)),
            .bodyLength = readInteger<std::uint32_t>(bytes.subspan(8)),
            .opaque = readInteger<std::uint32_t>(bytes.subspan(12)),
            .cas = readInteger<std::uint64_t>(bytes.subspan(16))};
}

std::optional<Packet> splitBody(const Header& header, ByteView body) {
    const std::size_t beforeValue = std::size_t{header.extrasLength} + header.keyLength;
    if (beforeValue > body.size()) {
        return std::nullopt;
    }
    return Packet{.header = header,
                  .extras = body.first(header.extrasLength),
                  .key = body.subspan(header.extrasLength, header.keyLength),
                  .value = body.subspan(beforeValue)};
}

}  // namespace send_buffer
