// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/request.h"

#include <numeric>
#include <utility>

namespace send_buffer {
namespace {

std::size_t sizeOf(const std::vector<ByteView>& values) {
    return std::accumulate(values.begin(), values.end(), std::size_t{0},
                           [](std::size_t sum, ByteView value) { return sum + value.size(); });
}

/// Encodes a request: `ownValue` becomes part of the head, `values` stay where they are.
EncodedRequest encode(Opcode opcode, std::uint8_t datatype, ByteView extras, std::string_view key,
                      std::vector<ByteView> values, ByteView ownValue = {}) {
    const std::size_t bodyLength = extras.size() + key.size() + ownValue.size() + sizeOf(values);
    EncodedRequest request{.head = {}, .values = std::move(values)};
    appendHeader(request.head, {.magic = static_cast<std::uint8_t>(Magic::Request),
                                .opcode = static_cast<std::uint8_t>(opcode),
                                .keyLength = static_cast<std::uint16_t>(key.size()),
                                .extrasLength = static_cast<std::uint8_t>(extras.size()),
                                .datatype = datatype,
                                .bodyLength = static_cast<std::uint32_t>(bodyLength)});
    append(request.head, extras);
    append(request.head, viewOf(key));
    append(request.head, ownValue);
    return request;
}

}  // namespace

std::size_t encodedSize(const EncodedRequest& request) { return request.head.size() + sizeOf(request.values); }

EncodedRequest encodeHello(std::string_view agent, std::span<const Feature> features) {
    Bytes list;
    for (const Feature feature : features) {
        appendInteger(list, static_cast<std::uint16_t>(feature));
    }
    return encode(Opcode::Hello, datatype::raw, {}, agent, {}, list);
}

EncodedRequest encodeGet(std::string_view key) { return encode(Opcode::Get, datatype::raw, {}, key, {}); }

EncodedRequest encodeStat(std::string_view group) { return encode(Opcode::Stat, datatype::raw, {}, group, {}); }

EncodedRequest encodeSet(std::string_view key, std::vector<ByteView> values, std::uint8_t datatype) {
    constexpr std::array<std::byte, 8> flagsAndExpiry{};
    return encode(Opcode::Set, datatype, flagsAndExpiry, key, std::move(values));
}

EncodedRequest encodeSetWithMeta(std::string_view key, std::vector<ByteView> values, std::uint8_t datatype) {
    constexpr std::array<std::byte, 24> flagsExpirySeqnoAndCas{};
    return encode(Opcode::SetWithMeta, datatype, flagsExpirySeqnoAndCas, key, std::move(values));
}

EncodedRequest encodeXattrUpsert(std::string_view key, std::string_view name, ByteView value) {
    Bytes extras;
    appendInteger(extras, static_cast<std::uint16_t>(name.size()));
    appendInteger(extras, subdocXattrPath);
    return encode(Opcode::SubdocDictUpsert, datatype::raw, extras, key, {viewOf(name), value});
}

}  // namespace send_buffer
