// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/session.h"

#include <algorithm>
#include <string>
#include <utility>

#include "send_buffer/compression.h"

namespace send_buffer {
namespace {

constexpr std::string_view responsesGroup = "responses";

Bytes bytesOf(std::string_view text) {
    const ByteView view = viewOf(text);
    return {view.begin(), view.end()};
}

std::string keyOf(const Packet& request) { return std::string{textOf(request.key)}; }

bool namesADocument(const Packet& request, std::size_t extrasLength) {
    return request.extras.size() == extrasLength && !request.key.empty() && request.key.size() <= maxKeyLength;
}

}  // namespace

std::vector<Response> Session::answer(const Packet& request) {
    auto responses = dispatch(request);
    counts_.add(responses.back().status);
    return responses;
}

std::vector<Response> Session::dispatch(const Packet& request) {
    if (!understands(request.header.datatype)) {
        return {{.status = Status::Invalid}};
    }
    switch (static_cast<Opcode>(request.header.opcode)) {
        case Opcode::Hello:
            return {hello(request)};
        case Opcode::Get:
            return {get(request)};
        case Opcode::Set:
            return {set(request)};
        case Opcode::SetWithMeta:
            return {setWithMeta(request)};
        case Opcode::SubdocDictUpsert:
            return {upsertXattr(request)};
        case Opcode::Stat:
            return stat(request);
    }
    return {{.status = Status::UnknownCommand}};
}

Response Session::hello(const Packet& request) {
    if (!request.extras.empty() || request.key.size() > maxKeyLength || request.value.size() % 2 != 0) {
        return {.status = Status::Invalid};
    }
    features_.clear();
    Response response;
    for (ByteView left = request.value; !left.empty(); left = left.subspan(2)) {
        const auto feature = static_cast<Feature>(readInteger<std::uint16_t>(left));
        const bool isKnown = feature == Feature::Xattr || feature == Feature::Snappy || feature == Feature::Json;
        if (isKnown && features_.insert(feature).second) {
            append(response.value, left.first(2));
        }
    }
    return response;
}

Response Session::get(const Packet& request) const {
    if (!namesADocument(request, 0) || !request.value.empty()) {
        return {.status = Status::Invalid};
    }
    auto document = bucket_.find(keyOf(request));
    if (!document) {
        return {.status = Status::KeyNotFound};
    }
    Response response{.value = std::move(document->body)};
    response.datatype = understands(document->datatype) ? document->datatype : datatype::raw;
    appendInteger(response.extras, document->flags);
    return response;
}

Response Session::set(const Packet& request) {
    if (!namesADocument(request, 8) || (request.header.datatype & datatype::xattr) != 0) {
        return {.status = Status::Invalid};
    }
    const PlainValue value = plainValueOf(request);
    if (value.status != Status::Success) {
        return {.status = value.status};
    }
    const auto flags = readInteger<std::uint32_t>(request.extras);
    const auto kept = static_cast<std::uint8_t>(request.header.datatype & datatype::json);
    return {.status = bucket_.setBody(keyOf(request), value.bytes, flags, kept)};
}

Response Session::setWithMeta(const Packet& request) {
    if (!namesADocument(request, 24)) {
        return {.status = Status::Invalid};
    }
    const PlainValue value = plainValueOf(request);
    if (value.status != Status::Success) {
        return {.status = value.status};
    }
    auto split = (request.header.datatype & datatype::xattr) != 0
                     ? splitXattrs(value.bytes, limits_.xattrsPerDocument)
                     : std::optional{ValueWithXattrs{.xattrs = {}, .body = value.bytes}};
    if (!split) {
        return {.status = Status::Invalid};
    }
    return {.status = bucket_.set(keyOf(request),
                                  {.body = {split->body.begin(), split->body.end()},
                                   .xattrs = std::move(split->xattrs),
                                   .flags = readInteger<std::uint32_t>(request.extras),
                                   .datatype = static_cast<std::uint8_t>(request.header.datatype & datatype::json)})};
}

Response Session::upsertXattr(const Packet& request) {
    if (!namesADocument(request, 3) || request.header.datatype != datatype::raw ||
        !features_.contains(Feature::Xattr)) {
        return {.status = Status::Invalid};
    }
    const std::size_t nameLength = readInteger<std::uint16_t>(request.extras);
    const auto flags = readInteger<std::uint8_t>(request.extras.subspan(2));
    if (flags != subdocXattrPath || nameLength == 0 || nameLength > request.value.size()) {
        return {.status = Status::Invalid};
    }
    const std::string_view name = textOf(request.value.first(nameLength));
    if (name.find('\0') != std::string_view::npos) {
        return {.status = Status::Invalid};
    }
    const ByteView value = request.value.subspan(nameLength);
    return {.status = bucket_.upsertXattr(keyOf(request),
                                          {.name = std::string{name}, .value = {value.begin(), value.end()}})};
}

std::vector<Response> Session::stat(const Packet& request) const {
    if (!request.extras.empty() || !request.value.empty() || textOf(request.key) != responsesGroup) {
        return {{.status = Status::Invalid}};
    }
    std::vector<Response> responses;
    for (const auto& [status, count] : counts_.all()) {
        responses.push_back({.key = bytesOf(std::to_string(static_cast<std::uint16_t>(status))),
                             .value = bytesOf(std::to_string(count))});
    }
    // An empty response ends the list.
    responses.emplace_back();
    return responses;
}

bool Session::understands(std::uint8_t datatype) const {
    unsigned unknown = datatype;
    unknown &= ~unsigned{features_.contains(Feature::Json) ? datatype::json : datatype::raw};
    unknown &= ~unsigned{features_.contains(Feature::Snappy) ? datatype::snappy : datatype::raw};
    unknown &= ~unsigned{features_.contains(Feature::Xattr) ? datatype::xattr : datatype::raw};
    return unknown == 0;
}

Session::PlainValue Session::plainValueOf(const Packet& request) const {
    PlainValue value{.status = Status::Success, .decompressed = {}, .bytes = request.value};
    if ((request.header.datatype & datatype::snappy) != 0) {
        auto [status, plain] = decompressWithin(limits_.packet, request.value);
        value.status = status;
        value.decompressed = std::move(plain);
        value.bytes = value.decompressed.view();
    }
    return value;
}

}  // namespace send_buffer
