#include "tests/model/checker_kernels.hpp"

#include <type_traits>

#include "harness/cuda/launch.hpp"
#include "tests/model/lanes.hpp"

namespace gpubench::kernels {
namespace {

// Each is launched as one block of 64 threads unless it says otherwise, with 256 bytes of dynamic
// shared memory. Constants before a kernel count its lines.

constexpr int reverse_first = __LINE__ + 5;
template <bool fixed>
__global__ void reverse(unsigned* words) {
  __shared__ unsigned held[64];
  const unsigned i = threadIdx.x;
  held[i] = words[i];
  if constexpr (fixed) __syncthreads();
  words[i] = held[63 - i];
}

constexpr int reduce_first = __LINE__ + 8;
template <bool fixed>
__global__ void reduce(unsigned* words) {
  __shared__ unsigned partial[64];
  const unsigned i = threadIdx.x;
  partial[i] = words[i];
  __syncthreads();
  for (unsigned half = 32; half > 0; half /= 2) {
    if (i < half) partial[i] += partial[i + half];
    if constexpr (fixed) __syncthreads();
  }
  words[i] = partial[0];
}

// The tile is written again while others may still read it.
constexpr int reuse_first = __LINE__ + 9;
template <bool fixed>
__global__ void reuse(unsigned* words) {
  __shared__ unsigned tile[64];
  const unsigned i = threadIdx.x;
  unsigned sum = 0;
  for (unsigned k = 0; k < 4; ++k) {
    tile[i] = words[i];
    __syncthreads();
    sum += tile[63 - i];
    if constexpr (fixed) __syncthreads();
  }
  words[i] = sum;
}

constexpr int one_value_first = __LINE__ + 4;
template <bool fixed>
__global__ void one_value(unsigned* words) {
  __shared__ unsigned flag;
  if (!fixed || threadIdx.x == 0) flag = 1;
  __syncthreads();
  words[threadIdx.x] = flag;
}

constexpr int in_step_first = __LINE__ + 5;
template <bool fixed>
__global__ void in_step(unsigned* words) {
  __shared__ unsigned held[64];
  const unsigned i = threadIdx.x;
  held[i] = words[i];
  if constexpr (fixed) __syncwarp();
  words[i] = held[i ^ 1];
}

// A shuffle is no barrier.
constexpr int after_shuffle_first = __LINE__ + 5;
template <bool fixed>
__global__ void after_shuffle(unsigned* words) {
  __shared__ unsigned held[64];
  const unsigned i = threadIdx.x;
  held[i] = words[i];
  const unsigned other = __shfl_xor_sync(all_lanes, i, 1);
  if constexpr (fixed) __syncwarp();
  words[i] = held[other];
}

// Sixteen lanes meet, and read what one of their sixteen, or one of the others, wrote.
constexpr int half_warp_first = __LINE__ + 5;
template <bool fixed>
__global__ void half_warp(unsigned* words) {
  __shared__ unsigned held[64];
  const unsigned i = threadIdx.x;
  held[i] = words[i];
  __syncwarp(i % 32 < 16 ? 0xffffu : 0xffff0000u);
  words[i] = held[fixed ? i ^ 1 : i ^ 16];
}

// __syncwarp orders a warp, not the block.
constexpr int other_warp_first = __LINE__ + 5;
template <bool fixed>
__global__ void other_warp(unsigned* words) {
  __shared__ unsigned held[64];
  const unsigned i = threadIdx.x;
  held[i] = words[i];
  __syncwarp();
  words[i] = held[fixed ? i ^ 31 : i ^ 32];
}

constexpr int count_first = __LINE__ + 6;
template <bool fixed>
__global__ void count(unsigned* words) {
  __shared__ unsigned counter;
  if (threadIdx.x == 0) counter = 0;
  __syncthreads();
  atomicAdd(&counter, 1u);
  if constexpr (fixed) __syncthreads();
  words[threadIdx.x] = counter;
}

// Bytes of one word are not one another's business; two bytes of a thread's and its neighbour's
// are.
constexpr int bytes_first = __LINE__ + 6;
template <bool fixed>
__global__ void bytes(unsigned* words) {
  using Stored = std::conditional_t<fixed, unsigned char, unsigned short>;
  __shared__ unsigned char held[66];
  const unsigned i = threadIdx.x;
  reinterpret_cast<Stored*>(held + i / 2 * 2)[fixed ? i % 2 : 0] = static_cast<Stored>(i);
  __syncthreads();
  words[i] = held[i];
}

constexpr int global_first = __LINE__ + 6;
template <bool fixed>
__global__ void shift_in_place(unsigned* words) {
  const unsigned i = threadIdx.x;
  const unsigned own = words[i];
  if constexpr (fixed) __syncthreads();
  words[i + 1] = own;
}

constexpr int global_histogram_first = __LINE__ + 4;
template <bool fixed>
__global__ void global_histogram(unsigned* words) {
  unsigned* bin = words + threadIdx.x % 8;
  if constexpr (fixed) {
    atomicAdd(bin, 1u);
  } else {
    *bin = *bin + 1;
  }
}

// Lanes that ended before a barrier have done what they did.
template <bool>
__global__ void end_early(unsigned* words) {
  __shared__ unsigned held[64];
  const unsigned i = threadIdx.x;
  held[i] = i;
  if (i >= 40) return;
  __syncthreads();
  words[i] = held[63 - i];
}

constexpr int never_written_first = __LINE__ + 7;
template <bool fixed>
__global__ void never_written(unsigned* words) {
  __shared__ unsigned held[65];
  const unsigned i = threadIdx.x;
  held[i] = words[i];
  __syncthreads();
  words[i] = held[fixed ? i : i + 1];
}

constexpr int dynamic_first = __LINE__ + 5;
template <bool fixed>
__global__ void never_written_dynamic(unsigned* words) {
  auto* held = static_cast<unsigned*>(model::dynamic_shared_memory());
  if constexpr (fixed) held[threadIdx.x] = 0;
  atomicAdd(held + threadIdx.x, 1u);
  words[threadIdx.x] = 1;
}

constexpr int one_byte_first = __LINE__ + 7;
template <bool fixed>
__global__ void one_byte_short(unsigned* words) {
  __shared__ unsigned held[64];
  auto* own = reinterpret_cast<unsigned char*>(held + threadIdx.x);
  own[0] = own[1] = own[3] = 7;
  if constexpr (fixed) own[2] = 7;
  words[threadIdx.x] = held[threadIdx.x];
}

// Behind the five bytes there are three of nobody's.
constexpr int beyond_first = __LINE__ + 6;
template <bool fixed>
__global__ void beyond(unsigned* words) {
  __shared__ __align__(8) char five[5];
  const unsigned i = threadIdx.x;
  if (i < 5) five[i] = 1;
  if (i < (fixed ? 5 : 6)) five[i] = 2;
  __syncthreads();
  words[i] = static_cast<unsigned>(five[0]);
}

constexpr int beyond_dynamic_first = __LINE__ + 4;
template <bool fixed>
__global__ void beyond_dynamic(unsigned* words) {
  auto* held = static_cast<unsigned*>(model::dynamic_shared_memory());
  held[threadIdx.x + (fixed ? 0 : 1)] = words[threadIdx.x];
  words[threadIdx.x] = 1;
}

constexpr int misaligned_first = __LINE__ + 7;
template <bool fixed>
__global__ void misaligned_shared(unsigned* words) {
  auto* held = static_cast<float*>(model::dynamic_shared_memory());
  held[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x != 0) return;
  const float2 pair = *reinterpret_cast<const float2*>(held + (fixed ? 2 : 1));
  words[0] = static_cast<unsigned>(pair.x + pair.y);
}

template <void (*broken)(unsigned*), void (*whole)(unsigned*)>
void launch_either(unsigned* words, bool fixed) {
  launch(fixed ? whole : broken, 1, 64, 256, nullptr, words);
}

// The blocks at both ends have the same work: where they differ, others are run to see how.
__global__ void leave_in_shared_kernel(unsigned* out) {
  __shared__ unsigned left;
  if (blockIdx.x % (gridDim.x - 1) == 0) left = 3;
  out[blockIdx.x] = left;
  left = blockIdx.x;
}

template <class T>
__device__ unsigned loaded(const std::byte* from) {
  return static_cast<unsigned>(*reinterpret_cast<const T*>(from));
}

__global__ void program_kernel(const uint2* ops, unsigned steps, unsigned bytes, bool fill,
                               std::byte* global, unsigned* out) {
  auto* memory =
      global != nullptr ? global : static_cast<std::byte*>(model::dynamic_shared_memory());
  if (fill) {
    for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x) memory[i] = std::byte{0};
  }
  __syncthreads();
  unsigned sum = 0;
  for (unsigned step = 0; step < steps; ++step) {
    const uint2 op = ops[step * blockDim.x + threadIdx.x];
    const unsigned width = op.x >> 8 & 0xff;
    std::byte* at = memory + (op.x >> 16);
    switch (op.x & 0xff) {
      case Op::load:
        sum += width == 1   ? loaded<unsigned char>(at)
               : width == 2 ? loaded<unsigned short>(at)
               : width == 4 ? loaded<unsigned>(at)
                            : loaded<unsigned long long>(at);
        break;
      case Op::store:
        if (width == 1) *reinterpret_cast<unsigned char*>(at) = 1;
        if (width == 2) *reinterpret_cast<unsigned short*>(at) = 1;
        if (width == 4) *reinterpret_cast<unsigned*>(at) = 1;
        if (width == 8) *reinterpret_cast<unsigned long long*>(at) = 1;
        break;
      case Op::atomic:
        if (width == 4) atomicAdd(reinterpret_cast<unsigned*>(at), 1u);
        if (width == 8) atomicAdd(reinterpret_cast<unsigned long long*>(at), 1ull);
        break;
      case Op::meet_warp:
        __syncwarp(op.y);
        break;
      case Op::meet_block:
        __syncthreads();
        break;
      default:
        break;
    }
  }
  out[threadIdx.x] = sum;
}

#define GPUBENCH_EITHER(kernel) launch_either<kernel<false>, kernel<true>>
constexpr Mistake mistakes[] = {
    {"reverse", GPUBENCH_EITHER(reverse), reverse_first, reverse_first + 2,
     "race: 4-byte load at bytes 128..131 of 'held' by thread (31,0,0)"},
    {"reduce", GPUBENCH_EITHER(reduce), reduce_first, reduce_first, "race: 4-byte"},
    {"reuse", GPUBENCH_EITHER(reuse), reuse_first, reuse_first - 2, "race: 4-byte"},
    {"one_value", GPUBENCH_EITHER(one_value), one_value_first, one_value_first,
     "race: 4-byte store at bytes 0..3 of 'flag' by thread (0,0,0)"},
    {"in_step", GPUBENCH_EITHER(in_step), in_step_first, in_step_first + 2, "race: 4-byte"},
    {"after_shuffle", GPUBENCH_EITHER(after_shuffle), after_shuffle_first, after_shuffle_first + 3,
     "race: 4-byte"},
    {"half_warp", GPUBENCH_EITHER(half_warp), half_warp_first, half_warp_first + 2, "race: 4-byte"},
    {"other_warp", GPUBENCH_EITHER(other_warp), other_warp_first, other_warp_first + 2,
     "race: 4-byte"},
    {"count", GPUBENCH_EITHER(count), count_first, count_first + 2, "race: 4-byte"},
    {"bytes", GPUBENCH_EITHER(bytes), bytes_first, bytes_first,
     "race: 2-byte store at bytes 0..1 of 'held' by thread (0,0,0)"},
    {"shift_in_place", GPUBENCH_EITHER(shift_in_place), global_first, global_first - 2,
     "race: 4-byte store at bytes 4..7 of an allocation of 4096 bytes by thread (0,0,0)"},
    {"global_histogram", GPUBENCH_EITHER(global_histogram), global_histogram_first + 3,
     global_histogram_first + 3, "race: 4-byte store at bytes 0..3 of an allocation of 4096"},
    {"end_early", GPUBENCH_EITHER(end_early), 0, 0, nullptr},
    {"never_written", GPUBENCH_EITHER(never_written), never_written_first, 0,
     "uninitialised shared memory: 4-byte load at bytes 256..259 of 'held'"},
    {"never_written_dynamic", GPUBENCH_EITHER(never_written_dynamic), dynamic_first, 0,
     "uninitialised shared memory: 4-byte atomic at bytes 0..3 of dynamic shared memory"},
    {"one_byte_short", GPUBENCH_EITHER(one_byte_short), one_byte_first, 0,
     "uninitialised shared memory: 4-byte load at bytes 0..3 of 'held'"},
    {"beyond", GPUBENCH_EITHER(beyond), beyond_first, 0,
     "out of bounds: 1-byte store at byte 5 of the shared variable 'five' of 5"},
    {"beyond_dynamic", GPUBENCH_EITHER(beyond_dynamic), beyond_dynamic_first, 0,
     "out of bounds: 4-byte store at byte 256 of 256 of dynamic shared memory"},
    {"misaligned_shared", GPUBENCH_EITHER(misaligned_shared), misaligned_first, 0,
     "misaligned 8-byte load at bytes 4..11 of dynamic shared memory"},
};
#undef GPUBENCH_EITHER

}  // namespace

std::span<const Mistake> memory_mistakes() { return mistakes; }

void leave_in_shared(unsigned* out, unsigned blocks) {
  launch(leave_in_shared_kernel, blocks, 1, 0, nullptr, out);
}

void run_program(const Op* ops, unsigned steps, unsigned threads, unsigned bytes, bool fill,
                 std::byte* global, unsigned* out) {
  static_assert(sizeof(Op) == sizeof(uint2));
  launch(program_kernel, 1, threads, bytes, nullptr, reinterpret_cast<const uint2*>(ops), steps,
         bytes, fill, global, out);
}

}  // namespace gpubench::kernels
