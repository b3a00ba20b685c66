#include "library.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>

namespace lib {
namespace {
Word digit(char letter) { return static_cast<Word>(letter - '0'); }

Word number(std::string_view field) {
    Word found = 0;
    for (const char letter : field) found = found * 10 + digit(letter);
    return found;
}
}  // namespace

Word parse(std::string_view text) {
    Word sum = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(','), text.size() - 1);
        sum += number(text.substr(0, end));
        text.remove_prefix(end + 1);
    }
    return sum;
}

std::string build(const Words& words) {
    std::string out;
    out.reserve(words.size() * 21);
    std::array<char, 20> digits{};
    for (const Word word : words) {
        out.append(digits.data(), std::to_chars(digits.begin(), digits.end(), word).ptr);
        out += ',';
    }
    return out;
}

void write_all(int file, std::string_view text) {
    std::array<char, 4096> buffer;
    while (!text.empty()) {
        const std::size_t size = std::min(text.size(), buffer.size());
        std::memcpy(buffer.data(), text.data(), size);
        if (write(file, buffer.data(), size) < 0) return;
        text.remove_prefix(size);
    }
}

void count_bytes(std::string_view text, std::array<Word, 256>& counts) {
    for (const char letter : text) {
        ++counts[static_cast<unsigned char>(letter)];
    }
}
}  // namespace lib
