// normalization: softmax, LayerNorm and RMSNorm of the rows of a matrix.
//
// They differ in what they must know of a row before they can write it (`pass`, `at_once`). The
// kernels differ in where they read the row meanwhile: again and again from memory, in one kernel
// per pass or in one for all, or from the registers that hold it. A row has blockDim.x threads, a
// power of two and at least a warp; a block has blockDim.y rows. Sums are in fp32. The learned
// scale and shift that follow in a network are left out: they are the same for all rows and stay in
// the caches.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/common/pack.cuh"
#include "kernels/common/philox.cuh"

namespace normalization {

inline constexpr unsigned warp = 32, most_threads = 1024;
inline constexpr float epsilon = 1e-5f;

// --- rows ---

// What a row's threads have, by `op`, for all of them. Every thread of the block must call it.
template <class Number, class Op>
__device__ inline Number of_row(Number value, Op op) {
  __shared__ Number partial[most_threads / warp];
  for (int offset = warp / 2; offset > 0; offset /= 2) {
    value = op(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  if (blockDim.x == warp) return value;
  const unsigned warps = blockDim.x / warp, first = threadIdx.y * warps;
  __syncthreads();  // nobody reads what is from the last time
  if (threadIdx.x % warp == 0) partial[first + threadIdx.x / warp] = value;
  __syncthreads();
  value = partial[first];
  for (unsigned w = 1; w < warps; ++w) value = op(value, partial[first + w]);
  return value;
}
struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
  __device__ double operator()(double a, double b) const { return fmax(a, b); }
};
struct Plus {
  template <class Number>
  __device__ Number operator()(Number a, Number b) const {
    return a + b;
  }
};

// A row is asked for its packs, one after the other, each time it is looked at: once more from
// memory ...
template <class T>
struct RowInMemory {
  const T* begin;
  unsigned packs;
  template <class F>
  __device__ void each(F f) const {
#pragma unroll 4
    for (unsigned p = threadIdx.x; p < packs; p += blockDim.x) {
      float x[Pack<T>::size];
      load_pack(begin, p).unpack(x);
      f(x, p);
    }
  }
};
// ... or from registers, of which every thread has room for `held` packs.
template <class T, unsigned held>
struct RowInRegisters {
  Pack<T> of[held];
  unsigned packs;
  __device__ RowInRegisters(const T* begin, unsigned packs_of_row) : packs(packs_of_row) {
#pragma unroll
    for (unsigned h = 0; h < held; ++h) {
      const unsigned p = threadIdx.x + h * blockDim.x;
      if (p < packs) of[h] = load_pack(begin, p);
    }
  }
  template <class F>
  __device__ void each(F f) const {
#pragma unroll
    for (unsigned h = 0; h < held; ++h) {
      const unsigned p = threadIdx.x + h * blockDim.x;
      if (p >= packs) continue;
      float x[Pack<T>::size];
      of[h].unpack(x);
      f(x, p);
    }
  }
};

// --- what has to be known of a row: two numbers, found in `passes` looks at it or in one ---

struct Softmax {  // x: the maximum; y: one over the sum of exp(number - maximum)
  static constexpr unsigned passes = 2;
  template <unsigned number, unsigned size, class Row>
  __device__ static void pass(const Row& row, float2& known) {
    if constexpr (number == 0) {
      float maximum = -INFINITY;
      row.each([&](const float(&x)[size], unsigned) {
#pragma unroll
        for (unsigned k = 0; k < size; ++k) maximum = fmaxf(maximum, x[k]);
      });
      known.x = of_row(maximum, Larger{});
    } else {
      float sum = 0;
      row.each([&](const float(&x)[size], unsigned) {
#pragma unroll
        for (unsigned k = 0; k < size; ++k) sum += expf(x[k] - known.x);
      });
      known.y = 1 / of_row(sum, Plus{});
    }
  }
  // Sums so far are scaled down when a larger maximum turns up (Milakov and Gimelshein, "Online
  // normalizer calculation for softmax", 2018).
  template <unsigned size, class Row>
  __device__ static void at_once(const Row& row, float2& known) {
    float maximum = -INFINITY, sum = 0;
    row.each([&](const float(&x)[size], unsigned) {
      float larger = maximum;
#pragma unroll
      for (unsigned k = 0; k < size; ++k) larger = fmaxf(larger, x[k]);
      sum *= expf(maximum - larger);
      maximum = larger;
#pragma unroll
      for (unsigned k = 0; k < size; ++k) sum += expf(x[k] - maximum);
    });
    known.x = of_row(maximum, Larger{});
    known.y = 1 / of_row(sum * expf(maximum - known.x), Plus{});
  }
  __device__ static float apply(float x, float2 known) { return expf(x - known.x) * known.y; }
};

struct LayerNorm {  // x: the mean; y: one over the standard deviation
  static constexpr unsigned passes = 2;
  template <unsigned number, unsigned size, class Row>
  __device__ static void pass(const Row& row, float2& known) {
    const float numbers = static_cast<float>(row.packs * size);
    float sum = 0;
    row.each([&](const float(&x)[size], unsigned) {
#pragma unroll
      for (unsigned k = 0; k < size; ++k) {
        sum = number == 0 ? sum + x[k] : fmaf(x[k] - known.x, x[k] - known.x, sum);
      }
    });
    const float mean = of_row(sum, Plus{}) / numbers;
    (number == 0 ? known.x : known.y) = number == 0 ? mean : 1 / sqrtf(mean + epsilon);
  }
  // Sums of x - c and of its square, c being the row's first number: without it the two would
  // cancel where the mean is large (Chan, Golub and LeVeque, "Algorithms for computing the sample
  // variance", 1983).
  template <unsigned size, class Row>
  __device__ static void at_once(const Row& row, float2& known) {
    const float numbers = static_cast<float>(row.packs * size);
    const float c = row.packs > 0 ? static_cast<float>(row.begin[0]) : 0.0f;
    float sum = 0, squares = 0;
    row.each([&](const float(&x)[size], unsigned) {
#pragma unroll
      for (unsigned k = 0; k < size; ++k) {
        sum += x[k] - c;
        squares = fmaf(x[k] - c, x[k] - c, squares);
      }
    });
    const float mean = of_row(sum, Plus{}) / numbers;
    known.x = c + mean;
    known.y = 1 / sqrtf(of_row(squares, Plus{}) / numbers - mean * mean + epsilon);
  }
  __device__ static float apply(float x, float2 known) { return (x - known.x) * known.y; }
};

struct RmsNorm {  // y: one over the root of the mean square
  static constexpr unsigned passes = 1;
  template <unsigned number, unsigned size, class Row>
  __device__ static void pass(const Row& row, float2& known) {
    float squares = 0;
    row.each([&](const float(&x)[size], unsigned) {
#pragma unroll
      for (unsigned k = 0; k < size; ++k) squares = fmaf(x[k], x[k], squares);
    });
    const float numbers = static_cast<float>(row.packs * size);
    known.y = 1 / sqrtf(of_row(squares, Plus{}) / numbers + epsilon);
  }
  template <unsigned size, class Row>
  __device__ static void at_once(const Row& row, float2& known) {
    pass<0, size>(row, known);
  }
  __device__ static float apply(float x, float2 known) { return x * known.y; }
};

template <class Norm, unsigned size, class Row>
__device__ inline void in_passes(const Row& row, float2& known) {
  Norm::template pass<0, size>(row, known);
  if constexpr (Norm::passes > 1) Norm::template pass<1, size>(row, known);
}

// --- kernels: `packs` a row, `rows` in all ---

// Rows beyond the last one have no packs; their threads still come to the barriers.
struct Place {
  std::size_t row;
  unsigned packs;
};
__device__ inline Place place(unsigned packs, unsigned rows) {
  const std::size_t row = blockIdx.x * std::size_t{blockDim.y} + threadIdx.y;
  return {row, row < rows ? packs : 0};
}

template <class T, class Norm, class Row>
__device__ inline void write_row(const Row& row, T* out, float2 known) {
  row.each([&](const float(&x)[Pack<T>::size], unsigned p) {
    float y[Pack<T>::size];
#pragma unroll
    for (unsigned k = 0; k < Pack<T>::size; ++k) y[k] = Norm::apply(x[k], known);
    store_pack(out, p, Pack<T>::of(y));
  });
}

// A kernel a pass: what is known of a row so far lies in memory between them.
template <class T, class Norm, unsigned number>
__global__ void look(const T* in, float2* known, unsigned packs, unsigned rows) {
  const Place at = place(packs, rows);
  const RowInMemory<T> row{in + at.row * packs * Pack<T>::size, at.packs};
  float2 of_this = {0, 0};
  if (number > 0 && at.packs > 0) of_this = known[at.row];
  Norm::template pass<number, Pack<T>::size>(row, of_this);
  __syncwarp();  // all have read what is overwritten (of a longer row at of_row's barrier)
  if (at.packs > 0 && threadIdx.x == 0) known[at.row] = of_this;
}
template <class T, class Norm>
__global__ void write(const T* in, const float2* known, T* out, unsigned packs, unsigned rows) {
  const Place at = place(packs, rows);
  if (at.packs == 0) return;
  const std::size_t first = at.row * packs * Pack<T>::size;
  write_row<T, Norm>(RowInMemory<T>{in + first, packs}, out + first, known[at.row]);
}

// One kernel that reads its row again for each pass; `once`: all that has to be known, in one.
template <class T, class Norm, bool once>
__global__ void again(const T* in, T* out, unsigned packs, unsigned rows) {
  const Place at = place(packs, rows);
  const std::size_t first = at.row * packs * Pack<T>::size;
  const RowInMemory<T> row{in + first, at.packs};
  float2 known = {0, 0};
  if constexpr (once) {
    Norm::template at_once<Pack<T>::size>(row, known);
  } else {
    in_passes<Norm, Pack<T>::size>(row, known);
  }
  write_row<T, Norm>(row, out + first, known);
}

// One kernel that reads its row once.
template <class T, class Norm, unsigned held>
__global__ void __launch_bounds__(most_threads)
    registers(const T* in, T* out, unsigned packs, unsigned rows) {
  const Place at = place(packs, rows);
  const std::size_t first = at.row * packs * Pack<T>::size;
  const RowInRegisters<T, held> row(in + first, at.packs);
  float2 known = {0, 0};
  in_passes<Norm, Pack<T>::size>(row, known);
  write_row<T, Norm>(row, out + first, known);
}

// How threads are laid over rows: up to four packs each, so that enough is in flight; of the
// longest rows eight, which 1024 threads still have the registers for.
struct Shape {
  unsigned lanes;         // of a row
  unsigned rows_a_block;  // 256 threads, or one row
};
inline constexpr unsigned few_packs = 4, most_packs = 8;
constexpr Shape shape_of(unsigned packs) {
  unsigned lanes = warp;
  while (lanes < most_threads && few_packs * lanes < packs) lanes *= 2;
  return {lanes, lanes < 256 ? 256 / lanes : 1};
}

// Four warps for a row of any length, as some frameworks have it: so many rows are in work on an SM
// that the longer ones outgrow its caches before they are looked at again.
inline constexpr Shape narrow{4 * warp, 1};

// --- rows and what must come of them ---

// Every row holds the same numbers, turned round by some places, plus a shift of its own: so a few
// sums over one row, in fp64, are a reference for all. Multiples of 1/32 below 5 in magnitude:
// every dtype holds them.
struct Rows {
  std::uint64_t seed;
  std::size_t columns;

  __host__ __device__ double number(std::size_t k) const {
    return (static_cast<int>(philox::at(k / 4, seed).of[k % 4] >> 24) - 128) / 32.0;
  }
  __host__ __device__ static double shift(std::size_t row) {
    return static_cast<double>(row % 4) / 4;
  }
  __host__ __device__ float operator()(std::size_t i) const {
    const std::size_t row = i / columns;
    return static_cast<float>(number((i + row * 7919) % columns) + shift(row));
  }
};

// What a row without a shift comes to.
struct Reference {
  double maximum = -4, exponentials = 0, mean = 0, mean_square = 0;
  explicit Reference(const Rows& rows) {
    const auto n = static_cast<double>(rows.columns);
    for (std::size_t k = 0; k < rows.columns; ++k) {
      maximum = std::fmax(maximum, rows.number(k));
      mean += rows.number(k) / n;
      mean_square += rows.number(k) * rows.number(k) / n;
    }
    for (std::size_t k = 0; k < rows.columns; ++k) {
      exponentials += std::exp(rows.number(k) - maximum);
    }
  }
};

template <class Norm>
struct Expected {
  Rows rows;
  Reference of_row;
  explicit Expected(const Rows& all) : rows(all), of_row(all) {}
  __host__ __device__ double operator()(std::size_t i) const {
    const double x = rows(i), s = Rows::shift(i / rows.columns), mean = of_row.mean;
    return value(x, s, mean, Norm{});
  }
  __host__ __device__ double value(double x, double s, double, Softmax) const {
    return exp(x - s - of_row.maximum) / of_row.exponentials;
  }
  __host__ __device__ double value(double x, double s, double mean, LayerNorm) const {
    return (x - s - mean) / sqrt(of_row.mean_square - mean * mean + double{epsilon});
  }
  __host__ __device__ double value(double x, double s, double mean, RmsNorm) const {
    return x / sqrt(of_row.mean_square + 2 * s * mean + s * s + double{epsilon});
  }
};

// --- what theory says they cost ---

// How often the matrix passes through DRAM, and in how many launches: a kernel for each look and
// one that writes, each of which reads everything; or one kernel that finds its rows again in a
// cache, or in registers.
struct Way {
  unsigned passes, launches;
};
template <class Norm>
inline constexpr Way in_kernels{Norm::passes + 2, Norm::passes + 1};
inline constexpr Way in_one_kernel{2, 1};

// Useful bytes per second: the matrix has to be read once and written once. `floor`: seconds of a
// launch; `dram` [bytes/s].
constexpr double useful_rate(const Way& way, double matrix, double floor, double dram) {
  return 2 * matrix / (way.launches * floor + way.passes * matrix / dram);
}

}  // namespace normalization
