#include "library.h"

#include <algorithm>
#include <functional>

namespace lib {
namespace {
bool before(Word left, Word right) { return left >> 8U < right >> 8U; }
}  // namespace

void sort_words(Words& words) {
    const auto order = [](Word left, Word right) { return before(left, right); };
    std::sort(words.begin(), words.end(), order);
}

std::size_t keep_small(const Words& words, Word limit, Words& out) {
    std::size_t kept = 0;
    for (const Word word : words) {
        out[kept] = word;
        kept += word < limit;
    }
    return kept;
}

Word search(const Words& sorted, const Words& keys) {
    Word sum = 0;
    for (const Word key : keys) {
        const Word* at = sorted.data();
        for (std::size_t left = sorted.size(); left > 1; left -= left / 2) {
            at += static_cast<std::size_t>(at[left / 2 - 1] < key) * (left / 2);
        }
        sum += *at;
    }
    return sum;
}
}  // namespace lib
