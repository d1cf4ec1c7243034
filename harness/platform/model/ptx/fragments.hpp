// Which element of a matrix a lane's registers hold: PTX ISA, "Matrix Fragments for mma.m16n8k16"
// and its kin, which are of one plan. CUDA leaves open how wmma's fragments lie; here they follow
// the same plan, side by side.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>

#include "harness/platform/model/ptx/types.hpp"

namespace gpubench::model::ptx {

struct Place {
  unsigned row, column;
};

// Neighbours along k that a register holds, and two sums side by side.
inline unsigned neighbours(Type type) { return bytes_of(type) < 4 ? 4 / bytes_of(type) : 1; }
inline constexpr unsigned neighbouring_sums = 2;

// Element i of A or of the sums: a lane's neighbours are in row lane / 4 of 8 rows, which come one
// below the other and then side by side.
inline Place place_in(unsigned rows, unsigned neighbours, unsigned lane, unsigned i) {
  const unsigned piece = i / neighbours, down = rows / 8;
  return {lane / 4 + 8 * (piece % down),
          (piece / down * 4 + lane % 4) * neighbours + i % neighbours};
}
// Element i of B: in column lane / 4 of 8 columns, along k first.
inline Place place_in_b(unsigned depth, unsigned neighbours, unsigned lane, unsigned i) {
  const unsigned piece = i / neighbours, along = depth / (4 * neighbours);
  return {(piece % along * 4 + lane % 4) * neighbours + i % neighbours,
          lane / 4 + 8 * (piece / along)};
}

// How many registers hold that many elements a lane. wmma's A and B of halves always have as many
// as the largest of them needs.
inline std::size_t registers_for(unsigned elements, Type type) {
  return std::size_t{elements} * bytes_of(type) / std::max(4u, bytes_of(type));
}
inline constexpr std::size_t registers_of_halves = 8;

// Shapes of wmma's products, and those of these types.
inline constexpr std::string_view tiles = "m16n16k16 m8n32k16 m32n8k16", tiles_of_tf32 = "m16n16k8",
                                  tiles_of_f64 = "m8n8k4";

inline bool is_among(std::string_view words, std::string_view word) {
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

// Rows, columns and depth of "m16n8k16"; zeros of what is no shape.
inline std::tuple<unsigned, unsigned, unsigned> extents_of(const std::string& shape) {
  unsigned extents[3] = {};
  std::size_t at = 0;
  for (int i = 0; i < 3; ++i) {
    if (at >= shape.size() || shape[at] != "mnk"[i]) return {};
    const char* const begin = shape.data() + at + 1;
    at = static_cast<std::size_t>(
        std::from_chars(begin, shape.data() + shape.size(), extents[i]).ptr - shape.data());
  }
  return {extents[0], extents[1], extents[2]};
}

}  // namespace gpubench::model::ptx
