#include "library.h"

namespace lib {
// Not in a namespace without a name: compilers leave out what nobody could read or write.
struct alignas(64) Cell {
    Word next;
    Word hits;
};
std::array<Cell, 256> steps;
std::array<Cell, 256> cells;
std::array<Cell, 128> marks;
std::array<Cell, 256> weights;

void scale_add(const std::vector<float>& from, float factor, std::vector<float>& to) {
    for (std::size_t k = 0; k < from.size(); ++k) {
        to[k] += factor * from[k];
    }
}

Word count_letter(std::string_view text, char letter) {
    std::uint32_t found = 0;
    for (const char each : text) {
        found += each == letter;
    }
    return found;
}

void darken(std::vector<std::uint8_t>& pixels, std::uint8_t by) {
    for (std::uint8_t& pixel : pixels) {
        const int left = pixel - by;
        pixel = static_cast<std::uint8_t>(left < 0 ? 0 : left);
    }
}

Word mix_all(const Words& words, Word key) {
    Word mixed = 0;
    for (const Word word : words) {
        mixed ^= word + key;
    }
    return mixed;
}

void fill_steps() {
    for (std::size_t k = 0; k < steps.size(); ++k) steps[k].next = (k * 149 + 67) % steps.size();
}

Word follow_steps(std::size_t count) {
    Word at = 0;
    Word sum = 0;
    for (std::size_t k = 0; k < count; ++k) {
        at = steps[at].next;
        sum += at;
    }
    return sum;
}

void hit_cells(const Words& keys) {
    for (const Word key : keys) {
        cells[key % cells.size()].hits += key;
    }
}

void mark_cells(const Words& keys) {
    for (const Word key : keys) {
        marks[key % marks.size()].next = key;
    }
}

Word weigh(const Words& keys) {
    Word sum = 0;
    for (const Word key : keys) {
        sum += weights[key % weights.size()].hits ^ weights[(key >> 8U) % weights.size()].hits;
    }
    return sum;
}
}  // namespace lib
