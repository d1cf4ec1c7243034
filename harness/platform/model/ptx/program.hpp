// A kernel lowered for running: a flat array of operations over registers of 32 lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/platform/model/include/warp_matrix.h"
#include "harness/platform/model/ptx/module.hpp"
#include "harness/platform/model/ptx/types.hpp"

namespace gpubench::model::ptx {

inline constexpr unsigned lanes = 32;
using Mask = std::uint32_t;  // a bit a lane

class Warp;
struct Op;
// Carries an operation out for the lanes of the mask, which is not 0.
using Handler = void (*)(Warp& warp, const Op& op, Mask mask);
// The same for one that may have to wait: false if it has done nothing yet.
using Waiter = bool (*)(Warp& warp, const Op& op, Mask mask);

// A register: where in the warp's file its lanes lie, and its number.
struct Register {
  std::uint32_t offset = 0;
  std::uint32_t number = 0;
  std::uint32_t bytes = 0;  // a lane; a predicate, a mask of all lanes, has 0
};
inline constexpr std::uint32_t always_defined = 0;  // the number of what is no register
inline constexpr std::uint32_t nowhere = 1;         // and of what nobody reads

// cluster: shared memory of another block of it, whose rank an address has from bit 32 on.
enum class Space : std::uint8_t { generic, global, shared, local, parameter, constant, cluster };

// What an operation has beyond three sources and a destination.
struct Extra {
  Space space = Space::generic;
  Type type = Type::b32;
  bool transposed = false;
  unsigned bytes = 0;                  // a lane's access, all elements
  unsigned address_bytes = 8;          // of the register that holds it
  std::uint64_t mask = 0;              // bits that mean what the operation says
  std::int64_t barrier_offset = 0;     // added to an mbarrier's address
  std::vector<Register> destinations;  // of vectors
  std::vector<Register> sources, more, sums;
  std::vector<Register> held;                 // of a wgmma's a
  unsigned rows = 0, columns = 0, depth = 0;  // of matrices
  unsigned group = 1;                         // of blocks: .cta_group
  bool columns_of_a = false;                  // of tcgen05.mma: a is in tensor memory
  unsigned a_offset = 0;                      // added to its address there
  Type sum_type = Type::f32;
  Tensor tensor = Tensor::fp16;
  int first_sign = 1, second_sign = 1;
  Type type_of_b = Type::b32, type_of_c = Type::b32;  // B's and C's of mma and wmma; `type` is A's
  bool saturates = false;                             // where sums of integers stop at the last one
  unsigned neighbours = 1;                            // elements of wmma that lie side by side
  bool is_tile_of_b = false;
};

enum class Flow : std::uint8_t { next, wait, branch, leave };

struct Op {
  Handler run = nullptr;
  Waiter wait = nullptr;
  std::uint32_t d = 0, a = 0, b = 0, c = 0;  // offsets of registers
  std::uint32_t dn = nowhere, an = always_defined, bn = always_defined, cn = always_defined;
  std::uint32_t guard = 0, guard_number = always_defined;
  std::uint32_t target = 0, reconverge = 0;
  std::uint32_t instruction = 0;  // its index in the kernel
  Flow flow = Flow::next;
  bool is_guarded = false, guard_negated = false;
  bool defines_itself = false;  // says itself which lanes of its destinations hold something
  std::uint8_t count_as = 0;    // Tally
  bool is_block_barrier = false;
  std::int64_t offset = 0;  // added to an address; or a small number that the operation knows
  const Extra* extra = nullptr;
};

// What is counted of an operation without its asking: a class of instructions.
enum class Tally : std::uint8_t {
  nothing,
  fma_fp32,
  fma_fp64,
  fma_fp16x2,
  fma_bf16x2,
  mad_int32,
  add_fp32,
  max_fp32,
  pack_16x2,
  special,
  shuffle,
  vote,
};

enum class Special : std::uint8_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  lanemask_lt,
  lanemask_le,
  lanemask_eq,
  lanemask_ge,
  lanemask_gt,
  cluster_ctarank,
  cluster_nctarank,
  envreg1,
  envreg2,
};
struct SpecialRegister {
  Special what;
  Register place;
};

// Without line breaks, for messages.
std::string one_line(std::string_view text);

struct Program {
  std::shared_ptr<const Module> module;
  const Kernel* kernel = nullptr;
  std::vector<Op> ops;
  std::uint32_t file_bytes = 0;  // of a warp's registers
  std::uint32_t registers = 0;
  std::vector<std::pair<Register, std::uint64_t>> constants;
  std::vector<SpecialRegister> specials;
  std::vector<std::size_t> parameter_offsets;
  std::size_t parameter_bytes = 0;
  std::size_t static_shared_bytes = 0;  // from `shared_base` on
  std::size_t shared_base = 0;
  std::size_t local_bytes = 0;         // a lane
  std::vector<std::byte> module_data;  // the variables at module scope that it names
  bool uses_warpgroups = false;
  std::deque<Extra> extras;

  // "'ld.global.f32 %f1, [%rd2];' (coalescing.cuh:31)"
  std::string describe(const Op& op) const;
  std::string place(const Op& op) const;  // "coalescing.cuh:31"
};

// `shared_base`: where in the window of shared memory the static variables begin. PtxError names
// what nobody has written.
std::shared_ptr<const Program> lower(std::shared_ptr<const Module> module, const Kernel& kernel,
                                     std::size_t shared_base);

// Fills `reconverge` of every branch: where all its lanes meet again, its immediate post-dominator.
inline constexpr std::uint32_t never = ~std::uint32_t{0};
void find_reconvergence(std::vector<Op>& ops);

}  // namespace gpubench::model::ptx
