// Products in tensor memory with block scales, and the copies that bring the scales: PTX ISA,
// "Block Scaling" of tcgen05.mma, "tcgen05.cp".
#include <algorithm>
#include <cmath>
#include <cstring>

#include "harness/platform/model/ptx/block.hpp"
#include "harness/platform/model/ptx/matrix_elements.hpp"
#include "harness/platform/model/ptx/tensor_memory.hpp"

namespace gpubench::model::ptx {
namespace {

constexpr unsigned copied_rows = 32, copied_columns = 4;

double element_of(unsigned bits_of_each, unsigned bits) {
  if (bits_of_each == 8) return decode(bits, ptx::e4m3);
  constexpr double sizes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return (bits & 8) != 0 ? -sizes[bits & 7] : sizes[bits & 7];
}
double scale_of(unsigned bits_of_each, std::uint32_t byte) {
  if (bits_of_each == 4) return decode(byte & 0x7f, ptx::e4m3);
  return byte == 0xff ? NAN : std::ldexp(1.0, static_cast<int>(byte) - 127);
}

}  // namespace

void TensorUnit::copy(unsigned thread, const Copy& copy) {
  require_allocated(copy.to & 0xffff, copied_columns);
  ask(thread, {{}, 0, What::copy, copy});
}

void TensorUnit::carry_out(const Copy& copy) {
  const unsigned first = copy.to & 0xffff;
  for (unsigned row = 0; row < copied_rows; ++row) {
    const std::byte* const from = piece(copy.from, row, 0);
    for (unsigned lane = row; lane < rows; lane += copied_rows) {
      std::memcpy(&words_[std::size_t{lane} * columns + first], from,
                  copied_columns * sizeof words_[0]);
    }
  }
  std::fill_n(written_.begin() + first, copied_columns, 1);
}

// a[row * depth + k], or b[k * columns + column], each times its scale.
std::vector<double> TensorUnit::scaled(const Product& p, bool is_b) const {
  const unsigned bits = p.scaled_bits, in_piece = 128 / bits, depth = 2 * in_piece;
  const unsigned together = bits == 8 ? 32 : 16, count = is_b ? p.columns : rows;
  const std::uint32_t from = is_b ? p.scales_b : p.scales_a;
  const unsigned first_byte = is_b ? p.byte_b : p.byte_a;
  std::vector<double> values(std::size_t{count} * depth);
  for (unsigned row = 0; row < count; ++row) {
    const std::uint32_t held = word(row % copied_rows, (from & 0xffff) + row / copied_rows);
    for (unsigned k = 0; k < depth; ++k) {
      const std::byte* const at = piece(is_b ? p.b : p.a, row, k / in_piece);
      const unsigned bit = k % in_piece * bits;
      const unsigned element = std::to_integer<unsigned>(at[bit / 8]) >> bit % 8;
      const unsigned byte = held >> 8 * (first_byte + k / together) & 0xff;
      values[is_b ? k * count + row : row * depth + k] =
          element_of(bits, element & ((1u << bits) - 1)) * scale_of(bits, byte);
    }
  }
  return values;
}

void TensorUnit::compute_scaled(const Product& p) {
  add_and_store(p, scaled(p, false), scaled(p, true), 256 / p.scaled_bits);
}

}  // namespace gpubench::model::ptx
