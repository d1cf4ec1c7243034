#include "tests/model/tensor_operand_kernels.hpp"

#include <bulk_copy.hpp>
#include <dynamic_shared.hpp>
#include <tcgen05.hpp>

#include "harness/cuda/launch.hpp"

namespace gpubench::kernels {
namespace {

constexpr unsigned alignment = 1024, row_bytes = 128, piece_bytes = 16, pieces = 8, warp = 32;
constexpr unsigned b_bytes = operand_depth * row_bytes;
// Warps 0 to 3 store and load, thread 128 multiplies.
constexpr unsigned threads = 160, multiplying = 128, storing_warps = 4;
// Columns: the sums, behind them a, and as many that nobody writes.
constexpr unsigned held = 32, of_a = operand_columns, unwritten = of_a + held, allocated = 128;

struct Shared {
  unsigned char* b;
  Mbarrier *ready, *done;
};

__device__ Shared parts_of_shared() {
  auto* shared = static_cast<unsigned char*>(dynamic_shared());
  unsigned char* const b = shared + (alignment - place_in_shared(shared) % alignment) % alignment;
  auto* const barriers = reinterpret_cast<Mbarrier*>(b + b_bytes);
  return {b, barriers, barriers + 1};
}

__device__ void bring(unsigned char* to, const __nv_bfloat16* b) {
  constexpr unsigned elements = piece_bytes / sizeof *b;
  for (unsigned i = threadIdx.x; i < operand_depth * pieces; i += threads) {
    const unsigned k = i / pieces, piece = i % pieces;
    *reinterpret_cast<uint4*>(to + k * row_bytes + (piece ^ k % 8) * piece_bytes) =
        *reinterpret_cast<const uint4*>(b + k * operand_columns + piece * elements);
  }
}

__device__ void arrive(Mbarrier* at, OperandSlip slip) {
  if (slip != OperandSlip::no_fence_before) tcgen05_fence_before_sync();
  __syncwarp();
  if (threadIdx.x % warp == 0) mbarrier_arrive(at);
}

__device__ void store_a(unsigned columns, const __nv_bfloat16* a, OperandSlip slip) {
  const unsigned own = threadIdx.x / warp * warp;
  const unsigned lane = slip == OperandSlip::other_lanes ? (own + warp) % 128 : own;
  unsigned row[held];
  for (unsigned i = 0; i < held; ++i) {
    row[i] = reinterpret_cast<const unsigned*>(a + threadIdx.x * operand_depth)[i];
  }
  const unsigned to = slip == OperandSlip::store_elsewhere ? allocated : of_a;
  tcgen05_st(columns + (lane << 16) + to, row);
  if (slip != OperandSlip::no_wait_for_store) tcgen05_wait_st();
}

__device__ void double_sums(unsigned sums, OperandSlip slip) {
  for (unsigned column = 0; column < operand_columns; column += held) {
    float some[held];
    tcgen05_ld(some, sums + column);
    if (slip != OperandSlip::store_before_load) tcgen05_wait_ld(some);
    for (float& each : some) each *= 2;
    tcgen05_st(sums + column, some);
    if (slip == OperandSlip::load_before_store) tcgen05_ld(some, sums + column);
  }
  tcgen05_wait_st();
}

__device__ void multiply(const Shared& at, unsigned columns, bool adds, OperandSlip slip) {
  const unsigned stride = slip == OperandSlip::stride ? 4 * row_bytes : 8 * row_bytes;
  const auto type = slip == OperandSlip::across_of_tf32 ? Tcgen05Type::tf32 : Tcgen05Type::bf16;
  const std::uint32_t product = tcgen05_instruction(type, operand_rows, operand_columns, true);
  unsigned a = columns + (slip == OperandSlip::factor_elsewhere   ? allocated
                          : slip == OperandSlip::unwritten_factor ? unwritten
                                                                  : of_a);
  if (slip == OperandSlip::lane_of_factor) a += 1u << 16;
  for (unsigned k = 0; k < operand_depth; k += 16) {
    const std::uint64_t b =
        tcgen05_matrix(place_in_shared(at.b + k * row_bytes), 0, stride, Swizzle::of_128_bytes);
    if (slip == OperandSlip::early_commit && k == 16) tcgen05_commit(at.done);
    if (slip == OperandSlip::across_of_tf32) {
      tcgen05_mma<Tcgen05Type::tf32>(columns, b, b, product, adds || k > 0);
    } else {
      tcgen05_mma_of_columns<Tcgen05Type::bf16>(columns, a + k / 2, b, product, adds || k > 0);
    }
  }
  if (slip != OperandSlip::early_commit) tcgen05_commit(at.done);
}

__device__ void multiply_twice(const Shared& at, unsigned columns, OperandSlip slip) {
  for (unsigned round = 0; round < 2; ++round) {
    if (slip != OperandSlip::no_wait_for_warps) mbarrier_wait(at.ready, round);
    if (slip != OperandSlip::no_fence_after_warps) tcgen05_fence_after_sync();
    multiply(at, columns, round > 0, slip);
  }
}

__device__ void store_and_load(const Shared& at, unsigned columns, float* d, const __nv_bfloat16* a,
                               OperandSlip slip) {
  const unsigned sums = columns + (threadIdx.x / warp * warp << 16);
  store_a(columns, a, slip);
  arrive(at.ready, slip);
  mbarrier_wait(at.done, 0);
  if (slip != OperandSlip::no_fence_after_commit) tcgen05_fence_after_sync();
  if (slip == OperandSlip::early_commit) store_a(columns, a, slip);
  double_sums(sums, slip);
  arrive(at.ready, slip);
  mbarrier_wait(at.done, 1);
  tcgen05_fence_after_sync();
  for (unsigned column = 0; column < operand_columns; column += held) {
    float some[held];
    tcgen05_ld(some, sums + column);
    tcgen05_wait_ld(some);
    for (unsigned i = 0; i < held; ++i) d[threadIdx.x * operand_columns + column + i] = some[i];
  }
  tcgen05_fence_before_sync();
}

__global__ void operand_kernel(OperandSlip slip, float* d, const __nv_bfloat16* a,
                               const __nv_bfloat16* b) {
  __shared__ unsigned place;
  const Shared at = parts_of_shared();
  bring(at.b, b);
  tcgen05_stored();
  if (threadIdx.x < warp) tcgen05_alloc<allocated>(&place);
  if (threadIdx.x == 0) {
    mbarrier_init(at.ready, storing_warps);
    mbarrier_init(at.done);
  }
  __syncthreads();
  tcgen05_fence_after_sync();
  const unsigned columns = place;
  if (threadIdx.x < multiplying) store_and_load(at, columns, d, a, slip);
  if (threadIdx.x == multiplying) multiply_twice(at, columns, slip);
  __syncthreads();
  if (threadIdx.x < warp) tcgen05_dealloc<allocated>(columns);
}

}  // namespace

void multiply_from_tensor_memory(OperandSlip slip, float* d, const __nv_bfloat16* a,
                                 const __nv_bfloat16* b) {
  launch(operand_kernel, 1, threads, alignment + b_bytes + 2 * sizeof(Mbarrier), nullptr, slip, d,
         a, b);
}

}  // namespace gpubench::kernels
