#include "library.h"

namespace lib {
// Not in a namespace without a name: compilers leave out what nobody could read or write.
struct alignas(64) Cell {
    Word next;
    Word hits;
};
std::array<Cell, 256> steps;
std::array<Cell, 256> cells;

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
}  // namespace lib
