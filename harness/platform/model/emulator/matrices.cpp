#include "harness/platform/model/emulator/matrices.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "harness/platform/model/include/small_float.h"

namespace gpubench::model {
namespace {

constexpr unsigned most_depth = 64;

constexpr unsigned bits_of_element(Tensor type) {
  switch (type) {
    case Tensor::nvfp4:
      return 4;
    case Tensor::fp8:
    case Tensor::int8:
    case Tensor::mxfp8:
      return 8;
    case Tensor::fp16:
    case Tensor::bf16:
      return 16;
    case Tensor::tf32:
      return 32;
    default:
      return 64;
  }
}
constexpr unsigned elements_along_k(Tensor type) {
  return type == Tensor::fp64 ? 16 : 256 / bits_of_element(type);
}

template <class T>
T read(const void* elements, unsigned i) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(elements) + i * sizeof(T), sizeof(T));
  return value;
}

// The i-th factor of a lane.
[[gnu::always_inline]] inline double factor(Tensor type, const void* elements, unsigned i) {
  switch (type) {
    case Tensor::fp16:
      return decode(half_format, read<std::uint16_t>(elements, i));
    case Tensor::bf16:  // the upper half of a float
      return double{std::bit_cast<float>(std::uint32_t{read<std::uint16_t>(elements, i)} << 16)};
    case Tensor::tf32:  // the hardware looks at no more than ten bits of mantissa
      return double{std::bit_cast<float>(read<std::uint32_t>(elements, i) & ~0x1fffu)};
    case Tensor::fp8:
    case Tensor::mxfp8:
      return decode(e4m3_format, read<std::uint8_t>(elements, i));
    case Tensor::nvfp4:  // two in a byte, the first in its lower half
      return fp4_value(read<std::uint8_t>(elements, i / 2) >> i % 2 * 4 & 15u);
    case Tensor::int8:
      return read<std::int8_t>(elements, i);
    default:
      return read<double>(elements, i);
  }
}

[[gnu::always_inline]] inline double summand(Tensor type, const void* elements, unsigned i) {
  return type == Tensor::int8   ? static_cast<double>(read<std::int32_t>(elements, i))
         : type == Tensor::fp64 ? read<double>(elements, i)
                                : double{read<float>(elements, i)};
}
[[gnu::always_inline]] inline void store(Tensor type, void* elements, unsigned i, double sum) {
  const auto write = [&](auto value) {
    std::memcpy(static_cast<std::byte*>(elements) + i * sizeof(value), &value, sizeof(value));
  };
  if (type == Tensor::int8) {  // exact in double, and wraps around
    write(static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(sum))));
  } else if (type == Tensor::fp64) {
    write(sum);
  } else {
    write(static_cast<float>(sum));
  }
}

[[gnu::always_inline]] inline Place place_in_a(Tensor type, unsigned lane, unsigned i) {
  switch (bits_of_element(type)) {
    case 4:
      return place_in_a4(lane, i);
    case 8:
      return place_in_a8(lane, i);
    case 16:
      return place_in_a16(lane, i);
    case 32:
      return place_in_a32(lane, i);
    default:
      return place_in_a64(lane, i);
  }
}
[[gnu::always_inline]] inline Place place_in_b(Tensor type, unsigned lane, unsigned i) {
  switch (bits_of_element(type)) {
    case 4:
      return place_in_b4(lane, i);
    case 8:
      return place_in_b8(lane, i);
    case 16:
      return place_in_b16(lane, i);
    case 32:
      return place_in_b32(lane, i);
    default:
      return place_in_b64(lane, i);
  }
}

}  // namespace

unsigned depth_of(Tensor type) { return elements_along_k(type); }

double scale_value(Tensor type, std::uint32_t byte) {
  return type == Tensor::mxfp8 ? power_of_two(byte) : unsigned_e4m3(byte);
}

namespace {

// A row or column along k, `apart` numbers from one element to the next, block by block.
template <class ScaleOf>
void multiply_by_scales(Tensor type, double* elements, std::size_t apart, ScaleOf&& scale_of) {
  const unsigned together = scaled_together(type), blocks = elements_along_k(type) / together;
  for (unsigned block = 0; block < blocks; ++block) {
    const double scale = scale_of(block);
    for (unsigned i = 0; i < together; ++i) elements[(block * together + i) * apart] *= scale;
  }
}

// The scale of a block along k of one of a's rows or b's columns, from the lane that holds it.
double scale_of_row(Tensor type, const WarpElements& lanes, unsigned row, unsigned block) {
  const BlockScales& chosen = lanes[0]->scales;
  const std::uint32_t held = lanes[row % 8 * 4 + 2 * chosen.thread_a + row / 8]->scales.a;
  return scale_value(type, held >> 8 * (chosen.byte_a + block) & 0xff);
}
double scale_of_column(Tensor type, const WarpElements& lanes, unsigned column, unsigned block) {
  const BlockScales& chosen = lanes[0]->scales;
  const std::uint32_t held = lanes[column * 4 + chosen.thread_b]->scales.b;
  return scale_value(type, held >> 8 * (chosen.byte_b + block) & 0xff);
}

// By type, since kernels make millions of these.
template <Tensor type>
void multiply_fragments_of(const WarpElements& lanes) {
  constexpr unsigned deep = elements_along_k(type);
  constexpr bool has_scales = scaled_together(type) > 0;
  double a[16][deep];
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    for (unsigned i = 0; i < deep / 2; ++i) {
      const Place at = place_in_a(type, lane, i);
      a[at.row][at.column] = factor(type, lanes[lane]->a, i);
    }
  }
  if constexpr (has_scales) {
    for (unsigned row = 0; row < 16; ++row) {
      multiply_by_scales(type, a[row], 1,
                         [&](unsigned block) { return scale_of_row(type, lanes, row, block); });
    }
  }
  for (unsigned product = 0; product < lanes[0]->products; ++product) {
    double b[deep][8], d[16][8];
    const unsigned of_b = product * deep / 4, of_d = product * 4;
    for (unsigned lane = 0; lane < warp_lanes; ++lane) {
      for (unsigned i = 0; i < deep / 4; ++i) {
        const Place at = place_in_b(type, lane, i);
        b[at.row][at.column] = factor(type, lanes[lane]->b, of_b + i);
      }
      for (unsigned i = 0; i < 4; ++i) {
        const Place at = place_in_c(lane, i);
        d[at.row][at.column] = summand(type, lanes[lane]->c, of_d + i);
      }
    }
    if constexpr (has_scales) {
      for (unsigned column = 0; column < 8; ++column) {
        multiply_by_scales(type, &b[0][column], 8, [&](unsigned block) {
          return scale_of_column(type, lanes, column, block);
        });
      }
    }
    for (unsigned row = 0; row < 16; ++row) {
      for (unsigned k = 0; k < deep; ++k) {
        for (unsigned column = 0; column < 8; ++column) d[row][column] += a[row][k] * b[k][column];
      }
    }
    for (unsigned lane = 0; lane < warp_lanes; ++lane) {
      for (unsigned i = 0; i < 4; ++i) {
        const Place at = place_in_c(lane, i);
        store(type, lanes[lane]->d, of_d + i, d[at.row][at.column]);
      }
    }
  }
}

}  // namespace

void multiply_fragments(Tensor type, const WarpElements& lanes) {
  switch (type) {
    case Tensor::fp16:
      return multiply_fragments_of<Tensor::fp16>(lanes);
    case Tensor::bf16:
      return multiply_fragments_of<Tensor::bf16>(lanes);
    case Tensor::tf32:
      return multiply_fragments_of<Tensor::tf32>(lanes);
    case Tensor::fp8:
      return multiply_fragments_of<Tensor::fp8>(lanes);
    case Tensor::int8:
      return multiply_fragments_of<Tensor::int8>(lanes);
    case Tensor::fp64:
      return multiply_fragments_of<Tensor::fp64>(lanes);
    case Tensor::mxfp8:
      return multiply_fragments_of<Tensor::mxfp8>(lanes);
    case Tensor::nvfp4:
      return multiply_fragments_of<Tensor::nvfp4>(lanes);
  }
}

void multiply_tiles(Tensor type, const WarpElements& lanes, unsigned warp) {
  const unsigned depth = depth_of(type), bytes = bits_of_element(type) / 8;
  // Where an element stands in its tile, in elements.
  const auto in_tile = [&](unsigned row, unsigned k) {
    return tile_offset(row, k * bytes) / bytes;
  };
  static thread_local double a[16][most_depth], b[most_depth][warpgroup_columns],
      d[16][warpgroup_columns];
  for (unsigned k = 0; k < depth; ++k) {
    for (unsigned row = 0; row < 16; ++row) {
      a[row][k] = factor(type, lanes[0]->a, in_tile(16 * warp + row, k));
    }
    for (unsigned column = 0; column < warpgroup_columns; ++column) {
      b[k][column] = factor(type, lanes[0]->b, in_tile(column, k));
    }
  }
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    for (unsigned i = 0; i < warpgroup_columns / 2; ++i) {
      const Place at = place_in_c(lane, i % 4);
      d[at.row][at.column + i / 4 * 8] = summand(type, lanes[lane]->c, i);
    }
  }
  for (unsigned row = 0; row < 16; ++row) {
    for (unsigned k = 0; k < depth; ++k) {
      for (unsigned column = 0; column < warpgroup_columns; ++column) {
        d[row][column] += a[row][k] * b[k][column];
      }
    }
  }
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    for (unsigned i = 0; i < warpgroup_columns / 2; ++i) {
      const Place at = place_in_c(lane, i % 4);
      store(type, lanes[lane]->d, i, d[at.row][at.column + i / 4 * 8]);
    }
  }
}

HeldRows held_rows(const std::array<const unsigned*, warp_lanes>& registers) {
  HeldRows rows;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    for (unsigned i = 0; i < 8; ++i) {
      const Place at = place_in_a16(lane, i);
      rows[at.row][at.column] = static_cast<std::uint16_t>(registers[lane][i / 2] >> 16 * (i % 2));
    }
  }
  return rows;
}

#ifdef __x86_64__
[[gnu::target_clones("avx2", "default")]]
#endif
void add_scaled(double* sums, const double* values, double factor, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sums[i] += factor * values[i];
}

namespace {

constexpr unsigned most_columns = 256, rows_at_once = 16;
using RowsOfSums = double[rows_at_once][most_columns];

// Operands as numbers.
class Factors {
 public:
  Factors(Tensor type, const Pieces& of) : type_(type), of_(of), depth_(depth_of(type)) {
    if (of.b_is_transposed) {
      for (unsigned k = 0; k < depth_; ++k) read(of.b, k, of.columns, {}, b_[k], 1);
    } else {
      for (unsigned column = 0; column < of.columns; ++column) {
        read(of.b, column, depth_, of.scales_b, &b_[0][column], most_columns);
      }
    }
  }
  // sums[i] += row `first` + i of a * b
  void add_products(unsigned first, RowsOfSums& sums) const {
    double a[most_depth];
    for (unsigned row = 0; row < rows_at_once; ++row) {
      read(of_.a, first + row, depth_, of_.scales_a, a, 1);
      for (unsigned k = 0; k < depth_; ++k) add_scaled(sums[row], b_[k], a[k], of_.columns);
    }
  }

 private:
  // Row `row`, of `length` elements, `apart` numbers from one to the next; times its scales, if it
  // has some.
  void read(std::span<const std::byte* const> pieces, unsigned row, unsigned length,
            std::span<const double> scales, double* to, std::size_t apart) const {
    const unsigned in_piece = depth_ / 2, row_pieces = length / in_piece;
    for (unsigned i = 0; i < length; ++i) {
      to[i * apart] = factor(type_, pieces[row * row_pieces + i / in_piece], i % in_piece);
    }
    if (scales.empty()) return;
    const std::size_t first = row * (length / scaled_together(type_));
    multiply_by_scales(type_, to, apart, [&](unsigned block) { return scales[first + block]; });
  }

  const Tensor type_;
  const Pieces& of_;
  const unsigned depth_;
  static thread_local double b_[most_depth][most_columns];  // more than a lane's stack should hold
};
thread_local double Factors::b_[most_depth][most_columns];

}  // namespace

void multiply_pieces(Tensor type, const Pieces& of, const std::array<float*, warp_lanes>& d,
                     bool adds) {
  static thread_local RowsOfSums sums;
  // A lane's elements, as of mma.sync, eight columns after another.
  const auto each = [&](auto&& use) {
    for (unsigned lane = 0; lane < warp_lanes; ++lane) {
      for (unsigned i = 0; i < of.columns / 2; ++i) {
        const Place at = place_in_c(lane, i % 4);
        use(d[lane][i], sums[at.row][at.column + i / 4 * 8]);
      }
    }
  };
  each([&](float mine, double& sum) { sum = adds ? double{mine} : 0.0; });
  Factors(type, of).add_products(0, sums);
  each([](float& mine, double sum) { mine = static_cast<float>(sum); });
}

void multiply_rows(Tensor type, const Pieces& of, unsigned rows, std::uint32_t* d,
                   std::size_t apart, bool adds) {
  static thread_local RowsOfSums sums;
  const Factors factors(type, of);
  for (unsigned first = 0; first < rows; first += rows_at_once) {
    const auto each = [&](auto&& use) {
      for (unsigned row = 0; row < rows_at_once; ++row) {
        for (unsigned i = 0; i < of.columns; ++i) use(d + (first + row) * apart, i, sums[row][i]);
      }
    };
    each([&](const std::uint32_t* row, unsigned i, double& sum) {
      sum = adds ? summand(type, row, i) : 0.0;
    });
    factors.add_products(first, sums);
    each([&](std::uint32_t* row, unsigned i, double sum) { store(type, row, i, sum); });
  }
}

}  // namespace gpubench::model
