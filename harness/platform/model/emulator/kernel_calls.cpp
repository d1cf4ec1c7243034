// The calls of a kernel's code: each finds the block that runs on this thread, and says where in
// the code it stands.
#include <ctime>

#include "harness/platform/model/emulator/block_runner.hpp"
#include "harness/platform/model/include/bulk_copy.hpp"
#include "harness/platform/model/include/cluster.hpp"
#include "harness/platform/model/include/cooperative_groups.h"
#include "harness/platform/model/include/cuda_pipeline_primitives.h"
#include "harness/platform/model/include/device_clock.hpp"
#include "harness/platform/model/include/device_language.h"
#include "harness/platform/model/include/integer_mad.hpp"
#include "harness/platform/model/include/multicast.hpp"
#include "harness/platform/model/include/multimem.hpp"
#include "harness/platform/model/include/outer_product.hpp"
#include "harness/platform/model/include/tcgen05_pair.hpp"
#include "harness/platform/model/include/warp_matrix.h"

using gpubench::model::running_block;
namespace warp_operation = gpubench::model::warp_operation;

void __syncthreads() noexcept { running_block->block_barrier(__builtin_return_address(0)); }
int __syncthreads_count(int predicate) noexcept {
  return static_cast<int>(
      running_block->block_vote(predicate != 0, __builtin_return_address(0)).holding);
}
int __syncthreads_and(int predicate) noexcept {
  const auto vote = running_block->block_vote(predicate != 0, __builtin_return_address(0));
  return vote.holding == vote.cast;
}
int __syncthreads_or(int predicate) noexcept {
  return running_block->block_vote(predicate != 0, __builtin_return_address(0)).holding > 0;
}
void __syncwarp(unsigned mask) noexcept {
  running_block->collectives().take_part({.mask = mask, .operation = warp_operation::sync},
                                         __builtin_return_address(0));
}

float __fadd_rn(float a, float b) noexcept {
  gpubench::model::count_arithmetic(gpubench::model::Arithmetic::add_fp32,
                                    __builtin_return_address(0));
  return a + b;
}
float __fmul_rn(float a, float b) noexcept {
  gpubench::model::count_arithmetic(gpubench::model::Arithmetic::add_fp32,
                                    __builtin_return_address(0));
  return a * b;
}

namespace {

// What a lane's part of a product is, as an operand: its own registers.
void require_registers(const void* registers, std::size_t bytes, bool written, const void* code) {
  if (!gpubench::model::holds_guarded_code()) return;
  gpubench::model::require_own(
      registers, bytes,
      written ? gpubench::model::EventKind::store : gpubench::model::EventKind::load, code);
}

}  // namespace

namespace gpubench::model {

unsigned cluster_rank() noexcept { return running_block->cluster_rank(); }
unsigned cluster_blocks() noexcept { return running_block->cluster_blocks(); }
void cluster_barrier() noexcept { running_block->cluster_barrier(__builtin_return_address(0)); }
void* shared_of(const void* mine, unsigned rank) noexcept {
  return running_block->shared_of(mine, rank, __builtin_return_address(0));
}
bool is_cooperative() noexcept { return running_block->is_cooperative(); }
void grid_barrier() noexcept { running_block->grid_barrier(__builtin_return_address(0)); }
std::uint64_t shuffle(unsigned mask, std::uint64_t value, Shuffle how, unsigned argument,
                      int width) noexcept {
  return running_block->collectives().take_part({.mask = mask,
                                                 .operation = static_cast<int>(how),
                                                 .value = value,
                                                 .argument = argument,
                                                 .width = width},
                                                __builtin_return_address(0));
}
unsigned ballot(unsigned mask, bool predicate) noexcept {
  return static_cast<unsigned>(running_block->collectives().take_part(
      {.mask = mask, .operation = warp_operation::vote, .value = predicate ? 1u : 0u},
      __builtin_return_address(0)));
}
unsigned reduce(unsigned mask, unsigned value, Reduction how) noexcept {
  return static_cast<unsigned>(running_block->collectives().take_part(
      {.mask = mask,
       .operation = warp_operation::reduction + static_cast<int>(how),
       .value = value},
      __builtin_return_address(0)));
}
unsigned match(unsigned mask, std::uint64_t value, bool of_all) noexcept {
  return static_cast<unsigned>(running_block->collectives().take_part(
      {.mask = mask,
       .operation = of_all ? warp_operation::match_all : warp_operation::match_any,
       .value = value},
      __builtin_return_address(0)));
}
void copy_asynchronously(void* to_shared, const void* from_global, std::size_t bytes,
                         std::size_t zeros) noexcept {
  running_block->thread_copies().copy(to_shared, from_global, bytes, zeros,
                                      __builtin_return_address(0));
}
void multiply_matrices(Tensor type, MatrixElements mine) noexcept {
  const void* const code = __builtin_return_address(0);
  const bool doubles = type == Tensor::fp64;
  const std::size_t of_sums = (doubles ? 32u : 16u) * std::size_t{mine.products};
  require_registers(mine.d, of_sums, true, code);
  require_registers(mine.c, of_sums, false, code);
  require_registers(mine.a, doubles ? 64 : 16, false, code);
  require_registers(mine.b, (doubles ? 32u : 8u) * std::size_t{mine.products}, false, code);
  running_block->matrices().multiply(type, false, mine, code);
}
void load_matrices(unsigned* to, const void* row, bool transposed) noexcept {
  const void* const code = __builtin_return_address(0);
  require_registers(to, 4 * sizeof *to, true, code);
  running_block->matrices().load(to, row, transposed, code);
}
void multiply_warpgroup_tiles(Tensor type, MatrixElements mine) noexcept {
  const void* const code = __builtin_return_address(0);
  require_registers(mine.d, 64 * sizeof(float), true, code);
  running_block->matrices().multiply(type, true, mine, code);
}
long long no_clock() noexcept { running_block->no_clock(__builtin_return_address(0)); }
int multiply_add(int a, int b, int c) noexcept {
  count_arithmetic(Arithmetic::mad_int32, __builtin_return_address(0));
  return static_cast<int>(static_cast<unsigned>(a) * static_cast<unsigned>(b) +
                          static_cast<unsigned>(c));
}
void add_products(float* sums, const float* a, unsigned rows, const float* b,
                  unsigned columns) noexcept {
  running_block->add_products(sums, a, rows, b, columns, __builtin_return_address(0));
}
void commit_copies() noexcept { running_block->thread_copies().commit(); }
void wait_for_copies(std::size_t groups_left) noexcept {
  running_block->thread_copies().wait(groups_left, __builtin_return_address(0));
}
void multiply_shared(SharedProduct mine) noexcept {
  const void* const code = __builtin_return_address(0);
  require_registers(mine.d, std::size_t{mine.columns} / 2 * sizeof(float), true, code);
  running_block->matrices().multiply_shared(mine, code);
}
void commit_products() noexcept {
  running_block->matrices().commit_products(__builtin_return_address(0));
}
void wait_for_products(unsigned groups_left) noexcept {
  running_block->matrices().wait_for_products(groups_left, __builtin_return_address(0));
}
void allocate_tensor_memory(unsigned* place, unsigned columns, CtaGroup group) noexcept {
  running_block->tensor_memory().allocate(place, columns, group, __builtin_return_address(0));
}
void free_tensor_memory(unsigned address, unsigned columns, CtaGroup group) noexcept {
  running_block->tensor_memory().free(address, columns, group, __builtin_return_address(0));
}
void multiply_to_tensor_memory(TensorProduct mine) noexcept {
  running_block->tensor_memory().multiply(mine, __builtin_return_address(0));
}
void copy_to_tensor_memory(unsigned address, std::uint64_t descriptor, CtaGroup group) noexcept {
  running_block->tensor_memory().copy(address, descriptor, group, __builtin_return_address(0));
}
void commit_tensor_products(void* barrier, CtaGroup group) noexcept {
  running_block->tensor_memory().commit(barrier, group, __builtin_return_address(0));
}
void commit_pair_products(void* barrier, std::uint16_t ranks) noexcept {
  running_block->tensor_memory().commit_to(ranks, barrier, __builtin_return_address(0));
}
void load_tensor_memory(void* to, unsigned address) noexcept {
  const void* const code = __builtin_return_address(0);
  require_registers(to, 32 * sizeof(float), true, code);
  running_block->tensor_memory().load(to, address, code);
}
void wait_for_tensor_memory() noexcept {
  running_block->tensor_memory().wait(__builtin_return_address(0));
}
void store_tensor_memory(unsigned address, const void* from) noexcept {
  const void* const code = __builtin_return_address(0);
  require_registers(from, 32 * sizeof(float), false, code);
  running_block->tensor_memory().store(address, from, code);
}
void wait_for_tensor_stores() noexcept {
  running_block->tensor_memory().wait_for_stores(__builtin_return_address(0));
}
void fence_tensor_memory_before_sync() noexcept { running_block->tensor_fences().before_sync(); }
void fence_tensor_memory_after_sync() noexcept { running_block->tensor_fences().after_sync(); }
void begin_mbarrier(void* barrier, unsigned arrivals) noexcept {
  running_block->mbarriers().init(barrier, arrivals, __builtin_return_address(0));
}
void announce_mbarriers() noexcept { running_block->mbarriers().announce(); }
void arrive_at(void* barrier) noexcept {
  running_block->mbarriers().arrive(barrier, __builtin_return_address(0));
}
void copy_box(void* to_shared, const void* map, unsigned column, unsigned row,
              void* barrier) noexcept {
  running_block->bulk_copies().copy_box(to_shared, map, column, row, barrier,
                                        __builtin_return_address(0));
}
void expect_bytes(void* barrier, std::size_t bytes) noexcept {
  running_block->mbarriers().expect(barrier, bytes, __builtin_return_address(0));
}
void copy_bulk(void* to_shared, const void* from_global, std::size_t bytes,
               void* barrier) noexcept {
  running_block->bulk_copies().copy(to_shared, from_global, bytes, barrier,
                                    __builtin_return_address(0));
}
void copy_bulk_to(std::uint16_t ranks, void* to_shared, const void* from_global, std::size_t bytes,
                  void* barrier) noexcept {
  running_block->bulk_copies().copy(to_shared, from_global, bytes, barrier,
                                    __builtin_return_address(0), ranks);
}
void copy_box_to(std::uint16_t ranks, void* to_shared, const void* map, unsigned column,
                 unsigned row, void* barrier) noexcept {
  running_block->bulk_copies().copy_box(to_shared, map, column, row, barrier,
                                        __builtin_return_address(0), ranks);
}
void arrive_in_even_block(void* barrier) noexcept {
  running_block->mbarriers().arrive_at_even(barrier, __builtin_return_address(0));
}
void copy_box_of_pair(void* to_shared, const void* map, unsigned column, unsigned row,
                      void* barrier) noexcept {
  running_block->bulk_copies().copy_box(to_shared, map, column, row, barrier,
                                        __builtin_return_address(0), {},
                                        gpubench::model::BulkCopies::Arrival::in_even_block);
}
void wait_for_phase(void* barrier, unsigned parity) noexcept {
  running_block->mbarriers().wait(barrier, parity, MbarrierScope::block,
                                  __builtin_return_address(0));
}
void wait_for_phase_in_cluster(void* barrier, unsigned parity) noexcept {
  running_block->mbarriers().wait(barrier, parity, MbarrierScope::cluster,
                                  __builtin_return_address(0));
}
void load_sum(Summand type, const void* at, void* to) noexcept {
  const void* const code = __builtin_return_address(0);
  require_registers(to, multimem_bytes, true, code);
  running_block->multimem().load_sum(type, at, to, code);
}
void store_everywhere(void* at, const void* from) noexcept {
  const void* const code = __builtin_return_address(0);
  require_registers(from, multimem_bytes, false, code);
  running_block->multimem().store(at, from, code);
}
void add_everywhere(Summand type, void* at, const void* from) noexcept {
  const void* const code = __builtin_return_address(0);
  require_registers(from, multimem_bytes, false, code);
  running_block->multimem().add(type, at, from, code);
}
void* dynamic_shared_memory() noexcept { return running_block->dynamic_shared(); }

}  // namespace gpubench::model

extern "C" {
// Host code may call the C library's clock; in a kernel it would be the SM's.
std::clock_t __real_clock() noexcept;
std::clock_t __wrap_clock() noexcept {
  if (running_block != nullptr) running_block->no_clock(__builtin_return_address(0));
  return __real_clock();
}
}
