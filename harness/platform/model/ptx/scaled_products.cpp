// Products in tensor memory with block scales, and the copies that bring the scales: PTX ISA,
// "Block Scaling" of tcgen05.mma, "tcgen05.cp".
#include <algorithm>
#include <array>
#include <cstring>

#include "harness/platform/model/ptx/block.hpp"
#include "harness/platform/model/ptx/matrix_elements.hpp"
#include "harness/platform/model/ptx/tensor_memory.hpp"

namespace gpubench::model::ptx {
namespace {

constexpr unsigned copied_rows = 32, copied_columns = 4;

}  // namespace

void TensorUnit::copy(unsigned thread, const Copy& copy) {
  require_allocated(copy.to & 0xffff, copied_columns);
  if (copy.is_pairs) require_pair("tcgen05.cp");
  ask(thread, {{}, 0, What::copy, copy});
}

void TensorUnit::receive(const Copy& copy) {
  const unsigned first = copy.to & 0xffff;
  for (unsigned row = 0; row < copied_rows; ++row) {
    const std::byte* const from = piece(copy.from, row, 0);
    for (unsigned lane = row; lane < rows; lane += copied_rows) {
      std::memcpy(&words_[std::size_t{lane} * columns + first], from,
                  copied_columns * sizeof words_[0]);
    }
  }
  std::fill_n(written_.begin() + first, copied_columns, all_quarters);
}

// a[row * depth + k], or b[k * columns + column], each times its scale.
std::vector<double> TensorUnit::scaled(const Product& p, bool is_b,
                                       const std::vector<TensorUnit*>& owners) const {
  const unsigned bits = p.scaled_bits, in_piece = 128 / bits, depth = 2 * in_piece;
  const unsigned together = bits == 8 ? 32 : 16, count = is_b ? p.columns : rows;
  const std::uint32_t from = is_b ? p.scales_b : p.scales_a;
  const unsigned first_byte = is_b ? p.byte_b : p.byte_a;
  const unsigned row_step = is_b ? 1 : depth, step = is_b ? count : 1;
  const unsigned share = count / static_cast<unsigned>(owners.size());
  std::vector<double> values(std::size_t{count} * depth);
  std::array<const std::byte*, 2> pieces;
  for (unsigned row = 0; row < count; ++row) {
    const std::uint32_t held = word(row % copied_rows, (from & 0xffff) + row / copied_rows);
    for (unsigned i = 0; i < pieces.size(); ++i) {
      pieces[i] = owners[row / share]->piece(is_b ? p.b : p.a, row % share, i);
    }
    for (unsigned first = 0; first < depth; first += together) {
      const double scale = block_scale(bits, held >> 8 * (first_byte + first / together));
      for (unsigned k = first; k < first + together; ++k) {
        const unsigned bit = k % in_piece * bits;
        const unsigned element = std::to_integer<unsigned>(pieces[k / in_piece][bit / 8]);
        values[row * row_step + k * step] = scaled_element(bits, element >> bit % 8) * scale;
      }
    }
  }
  return values;
}

void TensorUnit::compute_scaled(const Product& p) {
  const std::vector<TensorUnit*> in = units(p.is_pairs);
  for (TensorUnit* const unit : in) {
    unit->add_and_store(p, unit->scaled(p, false, {unit}), unit->scaled(p, true, in),
                        256 / p.scaled_bits);
  }
}

}  // namespace gpubench::model::ptx
