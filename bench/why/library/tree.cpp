#include "library.h"

namespace lib {
namespace {
struct Node {
    Word key;
    std::array<std::uint32_t, 2> children;
};
std::vector<Node> nodes;
}  // namespace

void fill_tree(const Words& keys) {
    nodes.clear();
    for (const Word key : keys) {
        std::uint32_t* to = nullptr;
        for (std::uint32_t at = 0; at < nodes.size() && (to == nullptr || *to != 0);) {
            to = &nodes[at].children[nodes[at].key < key];
            at = *to;
        }
        if (to != nullptr) *to = static_cast<std::uint32_t>(nodes.size());
        nodes.push_back({key, {}});
    }
}

Word find_all(const Words& keys) {
    Word depth = 0;
    for (const Word key : keys) {
        for (std::uint32_t at = 0; nodes[at].key != key; ++depth) {
            at = nodes[at].children[nodes[at].key < key];
        }
    }
    return depth;
}
}  // namespace lib
