// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/xattrs.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "send_buffer/protocol.h"

namespace send_buffer {
namespace {

constexpr std::size_t lengthSize = sizeof(std::uint32_t);

auto findByName(Xattrs& xattrs, std::string_view name) {
    return std::find_if(xattrs.begin(), xattrs.end(), [name](const Xattr& xattr) { return xattr.name == name; });
}

/// Removes the part whose length stands at the front and returns it; nothing if there are fewer bytes.
std::optional<ByteView> takeCounted(ByteView& from) {
    if (from.size() < lengthSize) {
        return std::nullopt;
    }
    const std::size_t length = readInteger<std::uint32_t>(from);
    if (length > from.size() - lengthSize) {
        return std::nullopt;
    }
    const ByteView taken = from.subspan(lengthSize, length);
    from = from.subspan(lengthSize + length);
    return taken;
}

std::optional<Xattr> decodeXattr(ByteView pair) {
    const std::string_view text = textOf(pair);
    const std::size_t nameEnd = text.find('\0');
    if (nameEnd == 0 || nameEnd == std::string_view::npos || nameEnd + 1 == text.size() || text.back() != '\0') {
        return std::nullopt;
    }
    const ByteView value = pair.subspan(nameEnd + 1, pair.size() - nameEnd - 2);
    return Xattr{.name = std::string{text.substr(0, nameEnd)}, .value = {value.begin(), value.end()}};
}

}  // namespace

std::size_t encodedSize(const Xattr& xattr) { return lengthSize + xattr.name.size() + 1 + xattr.value.size() + 1; }

Bytes encodeXattrs(const Xattrs& xattrs) {
    const std::size_t pairs =
        std::accumulate(xattrs.begin(), xattrs.end(), std::size_t{0},
                        [](std::size_t sum, const Xattr& xattr) { return sum + encodedSize(xattr); });
    Bytes section;
    section.reserve(lengthSize + pairs);
    appendInteger(section, static_cast<std::uint32_t>(pairs));
    for (const Xattr& xattr : xattrs) {
        appendInteger(section, static_cast<std::uint32_t>(encodedSize(xattr) - lengthSize));
        append(section, viewOf(xattr.name));
        section.push_back(std::byte{0});
        append(section, xattr.value);
        section.push_back(std::byte{0});
    }
    return section;
}

std::optional<ValueWithXattrs> splitXattrs(ByteView value, std::size_t most) {
    ValueWithXattrs split;
    auto pairs = takeCounted(value);
    if (!pairs) {
        return std::nullopt;
    }
    while (!pairs->empty()) {
        const auto pair = takeCounted(*pairs);
        auto xattr = pair ? decodeXattr(*pair) : std::nullopt;
        if (!xattr || split.xattrs.size() == most || findByName(split.xattrs, xattr->name) != split.xattrs.end()) {
            return std::nullopt;
        }
        split.xattrs.push_back(*std::move(xattr));
    }
    split.body = value;
    return split;
}

void upsert(Xattrs& xattrs, Xattr xattr) {
    const auto known = findByName(xattrs, xattr.name);
    if (known == xattrs.end()) {
        xattrs.push_back(std::move(xattr));
    } else {
        *known = std::move(xattr);
    }
}

bool isWithin(const Limits& limits, std::size_t bodySize, const Xattrs& xattrs) {
    std::size_t user = 0;
    std::size_t system = 0;
    for (const Xattr& xattr : xattrs) {
        (xattr.isSystem() ? system : user) += encodedSize(xattr);
    }
    const std::size_t beyondItsRoom = system - std::min(system, limits.systemXattrs);
    return bodySize + user + beyondItsRoom <= limits.document;
}

}  // namespace send_buffer
