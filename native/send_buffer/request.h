// SPDX-License-Identifier: Apache-2.0
/// The encoding of a client's requests, without copies of their values.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "send_buffer/bytes.h"
#include "send_buffer/protocol.h"

namespace send_buffer {

/// A packet in chunks: its own bytes, then the value's, which stay in the caller's memory.
struct EncodedRequest {
    /// Header, extras and key; for HELLO also the list of features.
    Bytes head;
    std::vector<ByteView> values;
};

/// Returns the number of bytes on the wire.
std::size_t encodedSize(const EncodedRequest& request);

EncodedRequest encodeHello(std::string_view agent, std::span<const Feature> features);
EncodedRequest encodeGet(std::string_view key);
EncodedRequest encodeStat(std::string_view group);
EncodedRequest encodeSet(std::string_view key, std::vector<ByteView> values, std::uint8_t datatype);
EncodedRequest encodeSetWithMeta(std::string_view key, std::vector<ByteView> values, std::uint8_t datatype);
EncodedRequest encodeXattrUpsert(std::string_view key, std::string_view name, ByteView value);

}  // namespace send_buffer
