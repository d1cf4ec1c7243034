// The Tensor Cores of Blackwell's data-centre parts: one thread asks for a product of matrices in
// shared memory, and its sums lie in tensor memory, which no ordinary instruction reaches. sm_100a
// and sm_103a; a trap elsewhere. (The model's answer to the same names:
// harness/platform/model/include/tcgen05.hpp.)
//
// Tensor memory is 512 columns of 128 lanes of 32 bits. An address has the lane in its upper half
// and the column in the lower one. In a product of 128 rows, row i is lane i, and column j the
// j-th. Warp w of a block reads lanes 32 (w % 4) to 32 (w % 4) + 31 alone.
//
// The life of a product: one warp calls tcgen05_alloc(), and the block meets. Threads that store
// into a or b call tcgen05_stored() before they meet (what bulk copies bring needs none). One
// thread calls tcgen05_mma() for each slice of k, in order, then tcgen05_commit() with an mbarrier
// that expects one arrival: all its products so far are done when that phase ends. Those who have
// waited for it read the sums by tcgen05_ld(), and use what it brings after tcgen05_wait_ld().
// Around each barrier or mbarrier between such steps stand tcgen05_fence_before_sync() and
// tcgen05_fence_after_sync(). At last the warp that allocated calls tcgen05_dealloc().  (PTX ISA,
// "TensorCore 5th Generation Family Instructions".)
//
// Factors may lie there too: tcgen05_mma_of_columns() takes its a from tensor memory. Row i is lane
// i, and a column holds two neighbours along k of 16 bits each, the first one in the lower half.
// Warps write them by tcgen05_st(), as they may write sums, and call tcgen05_wait_st() before they
// tell whoever asks for the product.
#pragma once

#include <cuda_runtime.h>

#include <bulk_copy.hpp>
#include <cstdint>

#include "tcgen05_descriptor.hpp"

#if defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM103_ALL)
#define GPUBENCH_TCGEN05
#endif

// Whether this code has it, or traps. (Compiled for sm_100 and for sm_100a, a kernel has the same
// attributes: only the code itself knows.)
__device__ constexpr bool has_tcgen05() {
#ifdef GPUBENCH_TCGEN05
  return true;
#else
  return false;
#endif
}
// sm_103a has no products of integers.
__device__ constexpr bool has_tcgen05_int8() {
#ifdef __CUDA_ARCH_FEAT_SM100_ALL
  return true;
#else
  return false;
#endif
}

#ifdef GPUBENCH_TCGEN05
// A whole warp: `columns`, a power of two from 32 to 512, whose address is left in `*place`, in
// shared memory. It waits while other blocks have them. Nobody in this block allocates after that.
template <unsigned columns>
__device__ inline void tcgen05_alloc(unsigned* place) {
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(
                   place_in_shared(place)),
               "n"(columns)
               : "memory");
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");
}
template <unsigned columns>
__device__ inline void tcgen05_dealloc(unsigned address) {
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "n"(columns)
               : "memory");
}
__device__ inline void tcgen05_stored() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ inline void tcgen05_fence_before_sync() {
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}
__device__ inline void tcgen05_fence_after_sync() {
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

// One thread: d = a * b, or d += a * b, over 32 bytes of k. For one block, and by
// tcgen05_pair.hpp for two.
#define GPUBENCH_TCGEN05_KIND(group, kind)                  \
  asm volatile(                                             \
      "{\n"                                                 \
      ".reg .pred adds;\n"                                  \
      "setp.ne.u32 adds, %4, 0;\n"                          \
      "tcgen05.mma.cta_group::" group ".kind::" kind        \
      " [%0], %1, %2, %3, adds;\n"                          \
      "}" ::"r"(d),                                         \
      "l"(a), "l"(b), "r"(instruction), "r"(unsigned{adds}) \
      : "memory")
#define GPUBENCH_TCGEN05_PRODUCT(name, group)                               \
  template <gpubench::Tcgen05Type type>                                     \
  __device__ inline void name(unsigned d, std::uint64_t a, std::uint64_t b, \
                              std::uint32_t instruction, bool adds) {       \
    using gpubench::Tcgen05Type;                                            \
    if constexpr (type == Tcgen05Type::tf32) {                              \
      GPUBENCH_TCGEN05_KIND(group, "tf32");                                 \
    } else if constexpr (type == Tcgen05Type::fp8) {                        \
      GPUBENCH_TCGEN05_KIND(group, "f8f6f4");                               \
    } else if constexpr (type != Tcgen05Type::int8) {                       \
      GPUBENCH_TCGEN05_KIND(group, "f16");                                  \
    } else if constexpr (has_tcgen05_int8()) {                              \
      GPUBENCH_TCGEN05_KIND(group, "i8");                                   \
    } else {                                                                \
      __trap();                                                             \
    }                                                                       \
  }
GPUBENCH_TCGEN05_PRODUCT(tcgen05_mma, "1")
// The same of 16-bit factors, a from column `a` of tensor memory on: eight columns.
template <gpubench::Tcgen05Type type>
__device__ inline void tcgen05_mma_of_columns(unsigned d, unsigned a, std::uint64_t b,
                                              std::uint32_t instruction, bool adds) {
  using gpubench::Tcgen05Type;
  static_assert(type == Tcgen05Type::fp16 || type == Tcgen05Type::bf16);
  asm volatile(
      "{\n"
      ".reg .pred adds;\n"
      "setp.ne.u32 adds, %4, 0;\n"
      "tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, adds;\n"
      "}" ::"r"(d),
      "r"(a), "l"(b), "r"(instruction), "r"(unsigned{adds})
      : "memory");
}
__device__ inline void tcgen05_commit(Mbarrier* barrier) {
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(
                   place_in_shared(barrier))
               : "memory");
}

// A whole warp: lane i gets 32 columns of lane 32 (w % 4) + i, from `address` on, whose lane is the
// first of these; or writes them, which has been done after tcgen05_wait_st().
#define GPUBENCH_8(c, i) \
  c(x[i]), c(x[i + 1]), c(x[i + 2]), c(x[i + 3]), c(x[i + 4]), c(x[i + 5]), c(x[i + 6]), c(x[i + 7])
#define GPUBENCH_32(c) GPUBENCH_8(c, 0), GPUBENCH_8(c, 8), GPUBENCH_8(c, 16), GPUBENCH_8(c, 24)
#define GPUBENCH_TCGEN05_LD_ST(Register, constraint)                                             \
  __device__ inline void tcgen05_ld(Register(&x)[32], unsigned address) {                        \
    asm volatile(                                                                                \
        "tcgen05.ld.sync.aligned.32x32b.x32.b32 "                                                \
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, " \
        "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, [%32];"               \
        : GPUBENCH_32("=" constraint)                                                            \
        : "r"(address)                                                                           \
        : "memory");                                                                             \
  }                                                                                              \
  __device__ inline void tcgen05_wait_ld(Register(&x)[32]) {                                     \
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");                                 \
    /* No use of the registers moves across. */                                                  \
    asm volatile("" : GPUBENCH_32("+" constraint)::"memory");                                    \
  }                                                                                              \
  __device__ inline void tcgen05_st(unsigned address, const Register(&x)[32]) {                  \
    asm volatile(                                                                                \
        "tcgen05.st.sync.aligned.32x32b.x32.b32 [%32], "                                         \
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, " \
        "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31};" ::GPUBENCH_32(       \
            constraint),                                                                         \
        "r"(address)                                                                             \
        : "memory");                                                                             \
  }
GPUBENCH_TCGEN05_LD_ST(float, "f")
GPUBENCH_TCGEN05_LD_ST(int, "r")
GPUBENCH_TCGEN05_LD_ST(unsigned, "r")
#undef GPUBENCH_TCGEN05_LD_ST
#undef GPUBENCH_32
#undef GPUBENCH_8
__device__ inline void tcgen05_wait_st() {
  asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
}
#else
template <unsigned columns>
__device__ inline void tcgen05_alloc(unsigned*) {
  __trap();
}
template <unsigned columns>
__device__ inline void tcgen05_dealloc(unsigned) {
  __trap();
}
__device__ inline void tcgen05_stored() {}
__device__ inline void tcgen05_fence_before_sync() {}
__device__ inline void tcgen05_fence_after_sync() {}
template <gpubench::Tcgen05Type type>
__device__ inline void tcgen05_mma(unsigned, std::uint64_t, std::uint64_t, std::uint32_t, bool) {
  __trap();
}
template <gpubench::Tcgen05Type type>
__device__ inline void tcgen05_mma_of_columns(unsigned, unsigned, std::uint64_t, std::uint32_t,
                                              bool) {
  __trap();
}
__device__ inline void tcgen05_commit(Mbarrier*) { __trap(); }
template <class Register>
__device__ inline void tcgen05_ld(Register (&)[32], unsigned) {
  __trap();
}
template <class Register>
__device__ inline void tcgen05_wait_ld(Register (&)[32]) {}
template <class Register>
__device__ inline void tcgen05_st(unsigned, const Register (&)[32]) {
  __trap();
}
__device__ inline void tcgen05_wait_st() {}
#endif
