// Honest functions of many kinds; each cause is planted in one of them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace lib {

using Word = std::uint64_t;
using Words = std::vector<Word>;

Word checksum(Word state, int rounds);  // no cause is planted here
void fill_table(const Words& keys);
Word look_up(const Words& keys);
void sort_words(Words& words);
void merge_words(const Words& left, const Words& right, Words& out);
Word parse(std::string_view text);
Word pass_through(const Words& words);
std::string build(const Words& words);
void write_all(int file, std::string_view text);
void fill_tree(const Words& keys);
Word find_all(const Words& keys);
Word walk();
double sum_matrix(const std::vector<double>& cells, std::size_t side);
void count_bytes(std::string_view text, std::array<Word, 256>& counts);
Word count_bits(const Words& words);
std::size_t keep_small(const Words& words, Word limit, Words& out);
Word search(const Words& sorted, const Words& keys);
Word get_all(const Words& keys, std::size_t capacity);
void scale_add(const std::vector<float>& from, float factor, std::vector<float>& to);
Word count_letter(std::string_view text, char letter);
void darken(std::vector<std::uint8_t>& pixels, std::uint8_t by);
Word mix_all(const Words& words, Word key);
void fill_steps();
Word follow_steps(std::size_t count);
void hit_cells(const Words& keys);
void mark_cells(const Words& keys);
Word weigh(const Words& keys);

}  // namespace lib
