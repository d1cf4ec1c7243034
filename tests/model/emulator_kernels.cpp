#include "tests/model/emulator_kernels.hpp"

#include "harness/cuda/launch.hpp"
#include "tests/model/lanes.hpp"

namespace gpubench::kernels {
namespace {

__global__ void copy_kernel(float* to, const float* from, unsigned elements) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < elements) to[i] = from[i];
}

__global__ void number_kernel(unsigned* out) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned i = block * blockDim.x * blockDim.y * blockDim.z + thread;
  out[i] = i;
}

template <class T>
__global__ void load_strided_kernel(T* out, const T* in, unsigned stride, unsigned offset) {
  out[threadIdx.x] = in[offset + threadIdx.x * stride];
}

template <class T>
__global__ void store_strided_kernel(T* out, unsigned stride, unsigned offset) {
  out[offset + threadIdx.x * stride] = T{};
}

__global__ void add_one_kernel(float* out, const float* in, unsigned stride) {
  out[threadIdx.x * stride] = in[threadIdx.x * stride] + 1;
}

template <class T>
__global__ void load_shared_kernel(T* out, unsigned stride, unsigned bytes) {
  T* shared = static_cast<T*>(model::dynamic_shared_memory());
  for (unsigned i = threadIdx.x; i < bytes / sizeof(T); i += blockDim.x) shared[i] = T{};
  __syncthreads();
  out[threadIdx.x] = shared[threadIdx.x * stride];
}

template <class Body>
void with_width(unsigned width, Body&& body) {
  if (width == 4) body(float{});
  if (width == 8) body(float2{});
  if (width == 16) body(float4{});
}

template <Tile kind>
__global__ void transpose_kernel(float* out, const float* in, unsigned size) {
  constexpr unsigned row_words = kind == Tile::padded ? 33 : 32;
  __shared__ float tile[32][row_words];
  const auto column = [](unsigned x, unsigned y) { return kind == Tile::swizzled ? x ^ y : x; };
  const unsigned x = threadIdx.x, left = blockIdx.x * 32, top = blockIdx.y * 32;
  for (unsigned y = threadIdx.y; y < 32; y += 8) {
    tile[y][column(x, y)] = in[(top + y) * size + left + x];
  }
  __syncthreads();
  for (unsigned y = threadIdx.y; y < 32; y += 8) {
    out[(left + y) * size + top + x] = tile[x][column(y, x)];
  }
}

struct Fields {
  float x, y, z, w;
};

__global__ void fields_of_structs_kernel(float* out, const Fields* in) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i].x + in[i].y + in[i].z + in[i].w;
}

struct Six {
  float value[6];
};
// nvcc would look into it; here it is passed as the ABI says.
[[gnu::noinline]] __device__ float sum_of(Six six) {
  float sum = 0;
  for (const float value : six.value) sum += value;
  return sum;
}

__global__ void struct_by_value_kernel(float* out, const Six* in) {
  __shared__ Six sixes[32];
  sixes[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = sum_of(sixes[31 - threadIdx.x]) + sum_of(in[threadIdx.x]);
}

struct Three {
  short value[3];
};

__global__ void copy_odd_structs_kernel(Three* out, const Three* in) {
  out[threadIdx.x] = in[threadIdx.x];
}

// A block reads the row of its y and the column of its x, of `length` each; a block of odd x reads
// the row from its end.
__global__ void row_and_column_kernel(float* out, const float* rows, const float* columns,
                                      unsigned length) {
  const float* const row = rows + std::size_t{blockIdx.y} * length;
  const float* const column = columns + std::size_t{blockIdx.x} * length;
  float sum = 0;
  for (unsigned i = threadIdx.x; i < length; i += blockDim.x) {
    const unsigned from_the_end = length - 1 - i;
    sum += row[blockIdx.x % 2 == 0 ? i : from_the_end] + column[i];
  }
  out[(blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x] = sum;
}

__global__ void fields_of_arrays_kernel(float* out, const float* in, unsigned elements) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] + in[elements + i] + in[2 * elements + i] + in[3 * elements + i];
}

template <Exchange how>
__global__ void exchange_kernel(unsigned* out, unsigned argument, int width) {
  const unsigned lane = threadIdx.x, value = 100 + lane;
  const int signed_argument = static_cast<int>(argument);
  if constexpr (how == Exchange::index) {
    out[lane] = __shfl_sync(all_lanes, value, signed_argument, width);
  } else if constexpr (how == Exchange::up) {
    out[lane] = __shfl_up_sync(all_lanes, value, argument, width);
  } else if constexpr (how == Exchange::down) {
    out[lane] = __shfl_down_sync(all_lanes, value, argument, width);
  } else {
    out[lane] = __shfl_xor_sync(all_lanes, value, signed_argument, width);
  }
}

__global__ void exchange_wide_kernel(double* out) {
  out[threadIdx.x] = __shfl_down_sync(all_lanes, threadIdx.x + 0.25, 1u);
}

__global__ void votes_kernel(unsigned* out) {
  const unsigned lane = threadIdx.x;
  const bool low = lane < 5;
  out[lane] = __ballot_sync(all_lanes, low);
  out[32 + lane] = static_cast<unsigned>(__any_sync(all_lanes, lane == 40)) * 2 +
                   static_cast<unsigned>(__all_sync(all_lanes, lane < 32));
  if (lane < 8) out[64 + lane] = __ballot_sync(0xffu, low);
  __syncwarp();
}

__global__ void reduce_kernel(float* out, const float* in, unsigned elements) {
  __shared__ float partial[256];
  const unsigned thread = threadIdx.x;
  float sum = 0;
  for (unsigned i = blockIdx.x * 256 + thread; i < elements; i += gridDim.x * 256) sum += in[i];
  partial[thread] = sum;
  for (unsigned half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) partial[thread] += partial[thread + half];
  }
  if (thread == 0) out[blockIdx.x] = partial[0];
}

__global__ void reduce_by_warps_kernel(float* out, const float* in) {
  __shared__ float of_warp[8];
  const unsigned thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  float sum = in[blockIdx.x * 256 + thread];
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(all_lanes, sum, distance);
  }
  if (lane == 0) of_warp[warp] = sum;
  __syncthreads();
  if (thread == 0) {
    float total = 0;
    for (int w = 0; w < 8; ++w) total += of_warp[w];
    out[blockIdx.x] = total;
  }
}

__global__ void histogram_kernel(unsigned* bins, const unsigned* values) {
  __shared__ unsigned own[64];
  if (threadIdx.x < 64) own[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&own[values[blockIdx.x * 256 + threadIdx.x]], 1u);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

__global__ void add_kernel(float* a, double* b, int* c, unsigned long long* d) {
  atomicAdd(a, 1.0f);
  atomicAdd(b, 0.5);
  if (atomicAdd(c, 1) < 0) atomicAdd(c, 1000000);
  atomicAdd(d, 3ull);
}

__global__ void chains_kernel(float* out, unsigned chains, unsigned steps) {
  float value[8];
  for (unsigned c = 0; c < chains; ++c) value[c] = static_cast<float>(threadIdx.x + c);
  for (unsigned i = 0; i < steps; ++i) {
    for (unsigned c = 0; c < chains; ++c) value[c] = fmaf(value[c], -0.9990234375f, 0.5f);
  }
  for (unsigned c = 0; c < chains; ++c) out[threadIdx.x] += value[c];
}

__global__ void fused_kernel(float* out, double* wide, unsigned trips) {
  float x = 1;
  double y = 1;
  for (unsigned k = 0; k < trips; ++k) {
    x = fmaf(x, 0.5f, 1.0f);
    y = fma(y, 0.5, 1.0);
    y = __fma_rn(y, 0.5, 1.0);
  }
  out[threadIdx.x] = __fmaf_rn(x, 1.0f, 0.0f);
  wide[threadIdx.x] = y;
}

__global__ void return_before_barrier_kernel(unsigned* out) {
  if (threadIdx.x >= 40) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}

constexpr int load_line = __LINE__ + 2;
__global__ void load_beyond_kernel(float* out, const float* in, unsigned element) {
  const float value = in[element];
  out[0] = value;
}

constexpr int store_line = __LINE__ + 2;
__global__ void store_beyond_kernel(float* out, unsigned element) {
  if (threadIdx.x == 3 && blockIdx.x == 1) out[element] = 1;
}

constexpr int atomic_line = __LINE__ + 2;
__global__ void add_beyond_kernel(float* out, unsigned element) {
  atomicAdd(&out[element], 1.0f);
  out[0] = 1;
}

constexpr int misaligned_line = __LINE__ + 2;
__global__ void load_misaligned_kernel(float4* out, const float* in) {
  const float4 value = *reinterpret_cast<const float4*>(in + 1);
  out[0] = value;
}

constexpr int barrier_line = __LINE__ + 3;
__global__ void barrier_in_branch_kernel(unsigned* out) {
  if (threadIdx.x < 16) {
    __syncthreads();
    out[threadIdx.x] = 1;
  } else {
    __syncthreads();
    out[threadIdx.x] = 2;
  }
}

constexpr int ended_line = __LINE__ + 3;
__global__ void shuffle_with_the_ended_kernel(unsigned* out) {
  if (threadIdx.x == 0) return;
  const unsigned value = __shfl_sync(all_lanes, threadIdx.x, 0);
  out[threadIdx.x] = value;
}

constexpr int without_oneself_line = __LINE__ + 2;
__global__ void ballot_without_oneself_kernel(unsigned* out) {
  const unsigned value = __ballot_sync(1u, true);
  out[threadIdx.x] = value;
}

constexpr int nobody_line = __LINE__ + 3;
__global__ void wait_for_nobody_kernel(unsigned* out) {
  if (threadIdx.x < 16) {
    __syncwarp();
    out[threadIdx.x] = 1;
  } else {
    __syncthreads();
    out[threadIdx.x] = 2;
  }
}

}  // namespace

void copy(float* to, const float* from, unsigned elements, dim3 grid, dim3 block) {
  launch(copy_kernel, grid, block, 0, nullptr, to, from, elements);
}
void number_threads(unsigned* out, dim3 grid, dim3 block) {
  launch(number_kernel, grid, block, 0, nullptr, out);
}

void load_strided(unsigned width, void* out, const void* in, unsigned stride, unsigned offset,
                  unsigned lanes) {
  with_width(width, [&]<class T>(T) {
    launch(load_strided_kernel<T>, 1, lanes, 0, nullptr, static_cast<T*>(out),
           static_cast<const T*>(in), stride, offset);
  });
}
void store_strided(unsigned width, void* out, unsigned stride, unsigned offset, unsigned lanes) {
  with_width(width, [&]<class T>(T) {
    launch(store_strided_kernel<T>, 1, lanes, 0, nullptr, static_cast<T*>(out), stride, offset);
  });
}
void load_shared(unsigned width, void* out, unsigned stride, unsigned lanes, std::size_t bytes) {
  with_width(width, [&]<class T>(T) {
    launch(load_shared_kernel<T>, 1, lanes, bytes, nullptr, static_cast<T*>(out), stride,
           static_cast<unsigned>(bytes));
  });
}
void add_one(float* out, const float* in, unsigned stride) {
  launch(add_one_kernel, 1, 32, 0, nullptr, out, in, stride);
}

void transpose(Tile tile, float* out, const float* in, unsigned size) {
  const auto kernel = tile == Tile::plain    ? transpose_kernel<Tile::plain>
                      : tile == Tile::padded ? transpose_kernel<Tile::padded>
                                             : transpose_kernel<Tile::swizzled>;
  launch(kernel, dim3(size / 32, size / 32), dim3(32, 8), 0, nullptr, out, in, size);
}
void sum_fields_of_structs(float* out, const float* in, unsigned elements) {
  launch(fields_of_structs_kernel, elements / 32, 32, 0, nullptr, out,
         reinterpret_cast<const Fields*>(in));
}
void pass_structs_by_value(float* out, const float* in) {
  launch(struct_by_value_kernel, 1, 32, 0, nullptr, out, reinterpret_cast<const Six*>(in));
}
void copy_odd_structs(short* out, const short* in) {
  launch(copy_odd_structs_kernel, 1, 32, 0, nullptr, reinterpret_cast<Three*>(out),
         reinterpret_cast<const Three*>(in));
}
void sum_row_and_column(float* out, const float* rows, const float* columns, unsigned length,
                        dim3 grid) {
  launch(row_and_column_kernel, grid, 32, 0, nullptr, out, rows, columns, length);
}
void sum_fields_of_arrays(float* out, const float* in, unsigned elements) {
  launch(fields_of_arrays_kernel, elements / 32, 32, 0, nullptr, out, in, elements);
}

void exchange(Exchange how, unsigned* out, unsigned argument, int width) {
  const auto kernel = how == Exchange::index  ? exchange_kernel<Exchange::index>
                      : how == Exchange::up   ? exchange_kernel<Exchange::up>
                      : how == Exchange::down ? exchange_kernel<Exchange::down>
                                              : exchange_kernel<Exchange::exclusive_or>;
  launch(kernel, 1, 32, 0, nullptr, out, argument, width);
}
void exchange_wide(double* out) { launch(exchange_wide_kernel, 1, 32, 0, nullptr, out); }
void votes(unsigned* out) { launch(votes_kernel, 1, 32, 0, nullptr, out); }

void reduce_blocks(float* out, const float* in, unsigned elements, unsigned blocks) {
  launch(reduce_kernel, blocks, 256, 0, nullptr, out, in, elements);
}
void reduce_by_warps(float* out, const float* in, unsigned blocks) {
  launch(reduce_by_warps_kernel, blocks, 256, 0, nullptr, out, in);
}
void histogram(unsigned* bins, const unsigned* values, unsigned blocks) {
  launch(histogram_kernel, blocks, 256, 0, nullptr, bins, values);
}
void add_atomically(float* a, double* b, int* c, unsigned long long* d, unsigned blocks) {
  launch(add_kernel, blocks, 64, 0, nullptr, a, b, c, d);
}
void chains(float* out, unsigned chains, unsigned steps, unsigned lanes) {
  launch(chains_kernel, 1, lanes, 0, nullptr, out, chains, steps);
}
void fused(float* out, double* wide, unsigned trips, unsigned lanes) {
  launch(fused_kernel, 1, lanes, 0, nullptr, out, wide, trips);
}
void return_before_barrier(unsigned* out) {
  launch(return_before_barrier_kernel, 1, 64, 0, nullptr, out);
}

const Lines lines{.load = load_line,
                  .store = store_line,
                  .atomic = atomic_line,
                  .misaligned = misaligned_line,
                  .barrier = barrier_line,
                  .ended = ended_line,
                  .without_oneself = without_oneself_line,
                  .nobody = nobody_line};
void load_beyond(float* out, const float* in, unsigned element) {
  launch(load_beyond_kernel, 1, 1, 0, nullptr, out, in, element);
}
void store_beyond(float* out, unsigned element) {
  launch(store_beyond_kernel, 2, 32, 0, nullptr, out, element);
}
void add_beyond(float* out, unsigned element) {
  launch(add_beyond_kernel, 1, 1, 0, nullptr, out, element);
}
void load_misaligned(float4* out, const float* in) {
  launch(load_misaligned_kernel, 1, 1, 0, nullptr, out, in);
}
void barrier_in_branch(unsigned* out) { launch(barrier_in_branch_kernel, 1, 32, 0, nullptr, out); }
void shuffle_with_the_ended(unsigned* out) {
  launch(shuffle_with_the_ended_kernel, 1, 32, 0, nullptr, out);
}
void ballot_without_oneself(unsigned* out) {
  launch(ballot_without_oneself_kernel, 1, 32, 0, nullptr, out);
}
void wait_for_nobody(unsigned* out) { launch(wait_for_nobody_kernel, 1, 32, 0, nullptr, out); }

}  // namespace gpubench::kernels
