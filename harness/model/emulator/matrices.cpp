#include "harness/model/emulator/matrices.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "harness/model/include/small_float.h"

namespace gpubench::model {
namespace {

constexpr unsigned most_depth = 32;

constexpr unsigned bytes_of_element(Tensor type) {
  switch (type) {
    case Tensor::fp8:
    case Tensor::int8:
      return 1;
    case Tensor::fp16:
    case Tensor::bf16:
      return 2;
    case Tensor::tf32:
      return 4;
    default:
      return 8;
  }
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
      return decode(e4m3_format, read<std::uint8_t>(elements, i));
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
  switch (bytes_of_element(type)) {
    case 1:
      return place_in_a8(lane, i);
    case 2:
      return place_in_a16(lane, i);
    case 4:
      return place_in_a32(lane, i);
    default:
      return place_in_a64(lane, i);
  }
}
[[gnu::always_inline]] inline Place place_in_b(Tensor type, unsigned lane, unsigned i) {
  switch (bytes_of_element(type)) {
    case 1:
      return place_in_b8(lane, i);
    case 2:
      return place_in_b16(lane, i);
    case 4:
      return place_in_b32(lane, i);
    default:
      return place_in_b64(lane, i);
  }
}

}  // namespace

unsigned depth_of(Tensor type) { return type == Tensor::fp64 ? 16 : 32 / bytes_of_element(type); }

namespace {

// By type, since kernels make millions of these.
template <Tensor type>
void multiply_fragments_of(const WarpElements& lanes) {
  const unsigned depth = depth_of(type);
  double a[16][most_depth];
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    for (unsigned i = 0; i < depth / 2; ++i) {
      const Place at = place_in_a(type, lane, i);
      a[at.row][at.column] = factor(type, lanes[lane]->a, i);
    }
  }
  for (unsigned product = 0; product < lanes[0]->products; ++product) {
    double b[most_depth][8], d[16][8];
    const unsigned of_b = product * depth / 4, of_d = product * 4;
    for (unsigned lane = 0; lane < warp_lanes; ++lane) {
      for (unsigned i = 0; i < depth / 4; ++i) {
        const Place at = place_in_b(type, lane, i);
        b[at.row][at.column] = factor(type, lanes[lane]->b, of_b + i);
      }
      for (unsigned i = 0; i < 4; ++i) {
        const Place at = place_in_c(lane, i);
        d[at.row][at.column] = summand(type, lanes[lane]->c, of_d + i);
      }
    }
    for (unsigned row = 0; row < 16; ++row) {
      for (unsigned k = 0; k < depth; ++k) {
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
  }
}

void multiply_tiles(Tensor type, const WarpElements& lanes, unsigned warp) {
  const unsigned depth = depth_of(type), bytes = bytes_of_element(type);
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

}  // namespace gpubench::model
