// The rungs in fp32: d[m][n] = sum over k of a[m][k] * b[k][n], all by rows without gaps.
#pragma once

#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <outer_product.hpp>

namespace gemm_ladder {

// How a rung cuts the work up. A block makes block_m x block_n elements of D and takes block_k of
// the sum at a time; sizes must be multiples of these, but where the rung asks at the edges.
struct Tiles {
  unsigned block_m, block_n, block_k, threads;
  bool any_size;  // multiples or not
};

// --- an element per thread, straight from memory ---

inline constexpr unsigned warp = 32;

// `along_rows`: a warp is 32 elements of one row of D, and so are its loads of B; otherwise of one
// column, and each load of A is of 32 rows. Neighbouring blocks lie along a column of D.
template <bool along_rows>
__global__ void __launch_bounds__(along_rows ? 1024 : 256)
    element_a_thread(const float* a, const float* b, float* d, unsigned m, unsigned n, unsigned k) {
  const unsigned of_rows = along_rows ? threadIdx.y : threadIdx.x;
  const unsigned of_columns = along_rows ? threadIdx.x : threadIdx.y;
  const unsigned row = blockIdx.x * (along_rows ? blockDim.y : blockDim.x) + of_rows;
  const unsigned column = blockIdx.y * (along_rows ? blockDim.x : blockDim.y) + of_columns;
  if (row >= m || column >= n) return;
  const float* const of_a = a + std::size_t{row} * k;
  float sum = 0;
  for (unsigned i = 0; i < k; ++i) sum = fmaf(of_a[i], b[std::size_t{i} * n + column], sum);
  d[std::size_t{row} * n + column] = sum;
}
inline constexpr Tiles naive_tiles{warp, 8, 1, 256, true};
// 32 rows of D, a warp each: all of them read the same line of B at about the same time.
inline constexpr Tiles coalesced_tiles{warp, warp, 1, warp* warp, true};

// --- an element per thread, from tiles in shared memory ---

// All lanes of a warp need the same rows of A here, and a compiler that finds several k of one side
// by side loads them at once. So does the source: four k of A by one load.
inline constexpr unsigned k_at_once = 4;

inline constexpr unsigned side = 32;
inline constexpr Tiles shared_tile_tiles{side, side, side, side* side, true};

static __global__ void __launch_bounds__(side* side)
    shared_tile(const float* a, const float* b, float* d, unsigned m, unsigned n, unsigned k) {
  __shared__ __align__(16) float tile_a[side][side], tile_b[side][side];
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const unsigned row = blockIdx.y * side + y, column = blockIdx.x * side + x;
  float sum = 0;
  for (unsigned done = 0; done < k; done += side) {
    float from_a = 0, from_b = 0;  // beyond an edge
    if (row < m && done + x < k) from_a = a[std::size_t{row} * k + done + x];
    if (column < n && done + y < k) from_b = b[std::size_t{done + y} * n + column];
    tile_a[y][x] = from_a;
    tile_b[y][x] = from_b;
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < side; i += k_at_once) {
      const float4 of_a = *reinterpret_cast<const float4*>(&tile_a[y][i]);
      sum = fmaf(of_a.x, tile_b[i][x], sum);
      sum = fmaf(of_a.y, tile_b[i + 1][x], sum);
      sum = fmaf(of_a.z, tile_b[i + 2][x], sum);
      sum = fmaf(of_a.w, tile_b[i + 3][x], sum);
    }
    __syncthreads();
  }
  if (row < m && column < n) d[std::size_t{row} * n + column] = sum;
}

// --- eight elements of a column a thread: an element of B is loaded once for all of them ---

inline constexpr Tiles register_1d_tiles{64, warp, 8, 256, false};

static __global__ void __launch_bounds__(register_1d_tiles.threads)
    register_1d(const float* a, const float* b, float* d, unsigned n, unsigned k) {
  constexpr unsigned rows = register_1d_tiles.block_m, depth = register_1d_tiles.block_k;
  constexpr unsigned each = 8, apart = rows / each;
  __shared__ __align__(16) float tile_a[rows][depth], tile_b[depth][warp];
  const unsigned t = threadIdx.x, x = t % warp;
  const unsigned y = t / warp;  // the first of the thread's rows, which are `apart` rows apart
  const unsigned row = blockIdx.y * rows, column = blockIdx.x * warp + x;
  const float* from_a = a + std::size_t{row + t / depth} * k + t % depth;
  const float* from_b = b + std::size_t{y} * n + column;
  float sums[each][1] = {};
  for (unsigned done = 0; done < k; done += depth) {
    const float of_a = *from_a, lower = from_a[std::size_t{rows / 2} * k], of_b = *from_b;
    from_a += depth;
    from_b += std::size_t{depth} * n;
    tile_a[t / depth][t % depth] = of_a;
    tile_a[t / depth + rows / 2][t % depth] = lower;
    tile_b[y][x] = of_b;
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < depth; i += k_at_once) {
      __align__(16) float of_rows[each][k_at_once];
#pragma unroll
      for (unsigned r = 0; r < each; ++r) {
        *reinterpret_cast<float4*>(of_rows[r]) =
            *reinterpret_cast<const float4*>(&tile_a[y + apart * r][i]);
      }
#pragma unroll
      for (unsigned j = 0; j < k_at_once; ++j) {
        const float factor[1] = {tile_b[i + j][x]};
        float factors[each];
#pragma unroll
        for (unsigned r = 0; r < each; ++r) factors[r] = of_rows[r][j];
        add_outer_product(sums, factors, factor);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (unsigned r = 0; r < each; ++r) {
    d[std::size_t{row + y + apart * r} * n + column] = sums[r][0];
  }
}

// --- eight by eight elements per thread ---

// A thread's columns lie side by side, and a compiler that finds them so loads them by 16 bytes. So
// does the source. Its rows are sixteen apart, and come one by one.
//
// A's tiles lie by columns from here on: what a warp reads of one has one k. Four more elements a
// column, so that a warp stores eight k of four rows each to 32 banks.

inline constexpr unsigned tile = 128, depth = 8, each = 8, tile_threads = 256;
inline constexpr unsigned column_of_a = tile + 4;  // of shared memory
inline constexpr Tiles tiles_of_128{tile, tile, depth, tile_threads, false};

static __global__ void __launch_bounds__(tile_threads, 2)
    register_2d(const float* a, const float* b, float* d, unsigned n, unsigned k) {
  constexpr unsigned apart = tile / each, rounds = tile * depth / tile_threads;
  __shared__ __align__(16) float tile_a[depth][column_of_a], tile_b[depth][tile];
  const unsigned t = threadIdx.x, x = t % apart * each, y = t / apart;
  const unsigned row = blockIdx.y * tile, column = blockIdx.x * tile;
  const float* from_a = a + std::size_t{row + t / depth} * k + t % depth;
  const float* from_b = b + std::size_t{t / tile} * n + column + t % tile;
  float sums[each][each] = {};
  for (unsigned done = 0; done < k; done += depth) {
    float of_a[rounds], of_b[rounds];
#pragma unroll
    for (unsigned r = 0; r < rounds; ++r) {
      of_a[r] = from_a[std::size_t{r * tile_threads / depth} * k];
      of_b[r] = from_b[std::size_t{r * tile_threads / tile} * n];
    }
    from_a += depth;
    from_b += std::size_t{depth} * n;
#pragma unroll
    for (unsigned r = 0; r < rounds; ++r) {
      tile_a[t % depth][t / depth + r * tile_threads / depth] = of_a[r];
      tile_b[t / tile + r * tile_threads / tile][t % tile] = of_b[r];
    }
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < depth; ++i) {
      float rows[each];
      __align__(16) float columns[each];
#pragma unroll
      for (unsigned r = 0; r < each; ++r) rows[r] = tile_a[i][y + apart * r];
#pragma unroll
      for (unsigned c = 0; c < each; c += 4) {
        const auto* const four = reinterpret_cast<const float4*>(&tile_b[i][x + c]);
        *reinterpret_cast<float4*>(&columns[c]) = *four;
      }
      add_outer_product(sums, rows, columns);
    }
    __syncthreads();
  }
#pragma unroll
  for (unsigned r = 0; r < each; ++r) {
#pragma unroll
    for (unsigned c = 0; c < each; ++c) {
      d[std::size_t{row + y + apart * r} * n + column + x + c] = sums[r][c];
    }
  }
}

// --- the same by 16 bytes at a time ---

// Where a thread's eight rows and columns are: four neighbours, and four more half a tile on. A
// warp's lanes are eight columns of four neighbours by four rows of four, so that each of its loads
// of 16 bytes per lane is of at most 128 different bytes.
struct Corner {
  unsigned row, column;
};
__device__ inline Corner corner_of(unsigned thread) {
  const unsigned lane = thread % warp, which = thread / warp;
  return {(which / 2 * 4 + lane / 8) * 4, (which % 2 * 8 + lane % 8) * 4};
}
inline constexpr unsigned half_tile = tile / 2;

// `to` begins on 16 bytes.
__device__ inline void load_eight(float (&to)[each], const float* from) {
  *reinterpret_cast<float4*>(&to[0]) = *reinterpret_cast<const float4*>(from);
  *reinterpret_cast<float4*>(&to[4]) = *reinterpret_cast<const float4*>(from + half_tile);
}
// `to`: the thread's corner of D.
__device__ inline void store_sums(float* to, const float (&sums)[each][each], unsigned n) {
#pragma unroll
  for (unsigned r = 0; r < each; ++r) {
    float* const row = to + std::size_t{r / 4 * half_tile + r % 4} * n;
    const auto& s = sums[r];
    *reinterpret_cast<float4*>(row) = make_float4(s[0], s[1], s[2], s[3]);
    *reinterpret_cast<float4*>(row + half_tile) = make_float4(s[4], s[5], s[6], s[7]);
  }
}

static __global__ void __launch_bounds__(tile_threads, 2)
    vectorised(const float* a, const float* b, float* d, unsigned n, unsigned k) {
  __shared__ __align__(16) float tile_a[depth][column_of_a], tile_b[depth][tile];
  const unsigned t = threadIdx.x, row = blockIdx.y * tile, column = blockIdx.x * tile;
  const auto [y, x] = corner_of(t);
  const float* from_a = a + std::size_t{row + t / 2} * k + t % 2 * 4;
  const float* from_b = b + std::size_t{t / warp} * n + column + t % warp * 4;
  float sums[each][each] = {};
  for (unsigned done = 0; done < k; done += depth) {
    const float4 of_a = *reinterpret_cast<const float4*>(from_a);
    const float4 of_b = *reinterpret_cast<const float4*>(from_b);
    from_a += depth;
    from_b += std::size_t{depth} * n;
    tile_a[t % 2 * 4][t / 2] = of_a.x;
    tile_a[t % 2 * 4 + 1][t / 2] = of_a.y;
    tile_a[t % 2 * 4 + 2][t / 2] = of_a.z;
    tile_a[t % 2 * 4 + 3][t / 2] = of_a.w;
    *reinterpret_cast<float4*>(&tile_b[t / warp][t % warp * 4]) = of_b;
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < depth; ++i) {
      __align__(16) float rows[each], columns[each];
      load_eight(rows, &tile_a[i][y]);
      load_eight(columns, &tile_b[i][x]);
      add_outer_product(sums, rows, columns);
    }
    __syncthreads();
  }
  store_sums(d + std::size_t{row + y} * n + column + x, sums, n);
}

// --- and the next tile is under way meanwhile: cp.async, which turns A's as it stores them ---

static __global__ void __launch_bounds__(tile_threads, 2)
    double_buffered(const float* a, const float* b, float* d, unsigned n, unsigned k) {
  __shared__ __align__(16) float tile_a[2][depth][column_of_a], tile_b[2][depth][tile];
  constexpr unsigned rounds = tile * depth / tile_threads;
  const unsigned t = threadIdx.x, row = blockIdx.y * tile, column = blockIdx.x * tile;
  const auto [y, x] = corner_of(t);
  const float* from_a = a + std::size_t{row + t / depth} * k + t % depth;
  const float* from_b = b + std::size_t{t / warp} * n + column + t % warp * 4;
  const auto fetch = [&](unsigned stage) {
#pragma unroll
    for (unsigned r = 0; r < rounds; ++r) {
      constexpr unsigned rows_a_round = tile_threads / depth;
      __pipeline_memcpy_async(&tile_a[stage][t % depth][t / depth + r * rows_a_round],
                              from_a + std::size_t{r * rows_a_round} * k, sizeof(float));
    }
    __pipeline_memcpy_async(&tile_b[stage][t / warp][t % warp * 4], from_b, sizeof(float4));
    __pipeline_commit();
    from_a += depth;
    from_b += std::size_t{depth} * n;
  };
  float sums[each][each] = {};
  fetch(0);
  unsigned stage = 0;
#pragma unroll 1
  for (unsigned done = 0; done < k; done += depth) {
    __pipeline_wait_prior(0);
    __syncthreads();  // this tile is there, all of it, and nobody needs the one before any more
    if (done + depth < k) fetch(stage ^ 1);
    __align__(16) float rows[2][each], columns[2][each];  // of this k and of the next
    load_eight(rows[0], &tile_a[stage][0][y]);
    load_eight(columns[0], &tile_b[stage][0][x]);
#pragma unroll
    for (unsigned i = 0; i < depth; ++i) {
      if (i + 1 < depth) {
        load_eight(rows[(i + 1) % 2], &tile_a[stage][i + 1][y]);
        load_eight(columns[(i + 1) % 2], &tile_b[stage][i + 1][x]);
      }
      add_outer_product(sums, rows[i % 2], columns[i % 2]);
    }
    stage ^= 1;
  }
  store_sums(d + std::size_t{row + y} * n + column + x, sums, n);
}

}  // namespace gemm_ladder
