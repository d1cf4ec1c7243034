// The Tensor Cores' own instructions. (The model's answer to the same names:
// harness/platform/model/include/warp_mma.hpp.)
//
// mma.sync: a whole warp multiplies matrices, d = a * b + c. sm_80 and later (fp8: sm_89); a trap
// before. A lane brings its own elements (PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating
// point type", "... mma.m16n8k8", "... mma.m16n8k32"). With g = lane / 4, t = lane % 4:
//
//   8 bits   a[0..3]: four neighbours of a row each, at rows g, g + 8, g, g + 8 and columns 4 t,
//                     4 t, 4 t + 16, 4 t + 16, the lowest column in the lowest byte
//            b[0..1]: four neighbours of column g each, at rows 4 t and 4 t + 16
//   16 bits  a[0..3]: two neighbours of a row each, at rows g, g + 8, g, g + 8 and columns 2 t,
//                     2 t, 2 t + 8, 2 t + 8, the lower column in the lower half
//            b[0..1]: two neighbours of column g each, at rows 2 t and 2 t + 8
//   tf32     a[0..3]: at rows g, g + 8, g, g + 8 and columns t, t, t + 4, t + 4
//            b[0..1]: of column g, at rows t and t + 4; bits as of float, the lowest 13 ignored
//   fp64     a[0..7]: at rows g, g + 8, g, ... and columns t, t, t + 4, t + 4, ... t + 12
//            b[0..3]: of column g, at rows t, t + 4, t + 8 and t + 12
//   all      c, d [0..3]: at rows g, g, g + 8, g + 8 and columns 2 t, 2 t + 1, 2 t, 2 t + 1
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "matrix_descriptor.hpp"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define GPUBENCH_MMA(name, instruction, Sum, constraint)                                         \
  __device__ inline void name(Sum(&d)[4], const unsigned(&a)[4], const unsigned(&b)[2],          \
                              const Sum(&c)[4]) {                                                \
    asm volatile(                                                                                \
        "mma.sync.aligned." instruction                                                          \
        " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"                   \
        : "=" constraint(d[0]), "=" constraint(d[1]), "=" constraint(d[2]), "=" constraint(d[3]) \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), constraint(c[0]),    \
          constraint(c[1]), constraint(c[2]), constraint(c[3]));                                 \
  }
#else
#define GPUBENCH_MMA(name, instruction, Sum, constraint)                             \
  __device__ inline void name(Sum(&)[4], const unsigned(&)[4], const unsigned(&)[2], \
                              const Sum(&)[4]) {                                     \
    __trap();                                                                        \
  }
#endif
GPUBENCH_MMA(mma_m16n8k16_fp16, "m16n8k16.row.col.f32.f16.f16.f32", float, "f")
GPUBENCH_MMA(mma_m16n8k16_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32", float, "f")
GPUBENCH_MMA(mma_m16n8k8_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32", float, "f")
GPUBENCH_MMA(mma_m16n8k32_int8, "m16n8k32.row.col.s32.s8.s8.s32", int, "r")
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 890
GPUBENCH_MMA(mma_m16n8k32_fp8, "m16n8k32.row.col.f32.e4m3.e4m3.f32", float, "f")
#else
__device__ inline void mma_m16n8k32_fp8(float (&)[4], const unsigned (&)[4], const unsigned (&)[2],
                                        const float (&)[4]) {
  __trap();
}
#endif
#undef GPUBENCH_MMA

// Several products of one a, d[i] += a * b[i], the registers of each b behind those of the one
// before.
template <unsigned products>
__device__ inline void mma_m16n8k16_bf16(float (&d)[products][4], const unsigned (&a)[4],
                                         const unsigned (&b)[2 * products]) {
#pragma unroll
  for (unsigned i = 0; i < products; ++i) {
    const unsigned of_product[2] = {b[2 * i], b[2 * i + 1]};
    mma_m16n8k16_bf16(d[i], a, of_product, d[i]);
  }
}

// ldmatrix: fragments of 16-bit elements from shared memory, four matrices of eight rows of 16
// bytes. `row` is where a row begins: lane i's is row i % 8 of matrix i / 8. Per matrix, a lane
// gets a register, two neighbours of row g at columns 2 t and 2 t + 1; transposed, two of column g
// at rows 2 t and 2 t + 1 (PTX ISA, "ldmatrix").
__device__ inline void ldmatrix(unsigned* to, const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
               : "memory");
}
__device__ inline void ldmatrix_transposed(unsigned* to, const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
               : "memory");
}

// One instruction from sm_90 on; before, eight of the only shape there is, 8 x 8 x 4.
__device__ inline void mma_m16n8k16_fp64(double (&d)[4], const double (&a)[8], const double (&b)[4],
                                         const double (&c)[4]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%16, %17, %18, %19};"
      : "=d"(d[0]), "=d"(d[1]), "=d"(d[2]), "=d"(d[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
        "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]), "d"(c[0]), "d"(c[1]), "d"(c[2]), "d"(c[3]));
#elif !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#pragma unroll
  for (int i = 0; i < 4; ++i) d[i] = c[i];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {  // the upper eight rows, the lower ones
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                   : "+d"(d[2 * half]), "+d"(d[2 * half + 1])
                   : "d"(a[2 * k + half]), "d"(b[k]));
    }
  }
#else
  __trap();
#endif
}

// wgmma: four warps together, d += a * b for tiles a of 64 rows and b of 128 columns in shared
// memory, and as many elements between them as 32 bytes hold. sm_90a alone; a trap elsewhere. In
// d, warp w of the four holds the rows from 16 w on; a lane's d[i] is at row g + 8 (i / 2 % 2) of
// those and column 8 (i / 4) + 2 t + i % 2 (PTX ISA, "Register Fragments and Shared Memory Matrix
// Layouts" of wgmma.mma_async.m64nNk16).
//
// Between the stores into a tile and its use, every thread calls wgmma_stored(), then
// __syncthreads(). wgmma_begin() comes before a run of multiplications, wgmma_wait() before d is
// used.
inline constexpr unsigned wgmma_columns = 128;

// Where in a tile, in bytes, byte `k` (0 to 31) of row `row` of a, or of column `row` of b, stands:
// pieces of eight rows of 16 bytes, the two pieces of a row one after the other (the layout without
// a swizzle, in which a piece is what the hardware reads at once). A tile is aligned to 128 bytes.
__host__ __device__ constexpr unsigned tile_offset(unsigned row, unsigned k) {
  return row / 8 * 256 + k / 16 * 128 + row % 8 * 16 + k % 16;
}

// Whether this code has it, or traps. (Compiled for sm_90 and for sm_90a, a kernel has the same
// attributes: only the code itself knows.)
__device__ constexpr bool has_wgmma() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  return true;
#else
  return false;
#endif
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define GPUBENCH_8(c, i) \
  c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3]), c(d[i + 4]), c(d[i + 5]), c(d[i + 6]), c(d[i + 7])
#define GPUBENCH_64(c)                                                                         \
  GPUBENCH_8(c, 0), GPUBENCH_8(c, 8), GPUBENCH_8(c, 16), GPUBENCH_8(c, 24), GPUBENCH_8(c, 32), \
      GPUBENCH_8(c, 40), GPUBENCH_8(c, 48), GPUBENCH_8(c, 56)
#define GPUBENCH_WGMMA(name, instruction, Sum, constraint, more)                                \
  __device__ inline void name(Sum(&d)[64], const void* a, const void* b) {                      \
    asm volatile(                                                                               \
        "wgmma.mma_async.sync.aligned." instruction                                             \
        " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "    \
        "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, " \
        "%35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, " \
        "%52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, 1" more ";"     \
        : GPUBENCH_64(constraint)                                                               \
        : "l"(detail::tile_descriptor(a)), "l"(detail::tile_descriptor(b)));                    \
  }
namespace detail {
// Address, the distance of a row's two pieces and that of the next eight rows, in units of 16 bytes
// (PTX ISA, "Matrix Descriptor Format").
__device__ inline std::uint64_t tile_descriptor(const void* tile) {
  const auto address = static_cast<std::uint64_t>(__cvta_generic_to_shared(tile));
  return (address & 0x3ffff) >> 4 | std::uint64_t{128 >> 4} << 16 | std::uint64_t{256 >> 4} << 32;
}
}  // namespace detail

__device__ inline void wgmma_stored() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ inline void wgmma_begin(float (&d)[64]) {
  asm volatile("" : GPUBENCH_64("+f")::"memory");
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void wgmma_begin(int (&d)[64]) {
  asm volatile("" : GPUBENCH_64("+r")::"memory");
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void wgmma_wait(float (&d)[64]) {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  asm volatile("" : GPUBENCH_64("+f")::"memory");
}
__device__ inline void wgmma_wait(int (&d)[64]) {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  asm volatile("" : GPUBENCH_64("+r")::"memory");
}
#else
#define GPUBENCH_WGMMA(name, instruction, Sum, constraint, more) \
  __device__ inline void name(Sum(&)[64], const void*, const void*) { __trap(); }
__device__ inline void wgmma_stored() {}
template <class... Registers>
__device__ inline void wgmma_begin(Registers&...) {}
template <class Sum>
__device__ inline void wgmma_wait(Sum (&)[64]) {}
#endif
// The signs of a and b; of 16-bit types also that both lie along k.
GPUBENCH_WGMMA(wgmma_m64n128_fp16, "m64n128k16.f32.f16.f16", float, "+f", ", 1, 1, 0, 0")
GPUBENCH_WGMMA(wgmma_m64n128_bf16, "m64n128k16.f32.bf16.bf16", float, "+f", ", 1, 1, 0, 0")
GPUBENCH_WGMMA(wgmma_m64n128_tf32, "m64n128k8.f32.tf32.tf32", float, "+f", ", 1, 1")
GPUBENCH_WGMMA(wgmma_m64n128_fp8, "m64n128k32.f32.e4m3.e4m3", float, "+f", ", 1, 1")
GPUBENCH_WGMMA(wgmma_m64n128_int8, "m64n128k32.s32.s8.s8", int, "+r", "")

// The same for b of 128 or 256 columns, from matrices that a descriptor tells the place of
// (harness/platform/include/matrix_descriptor.hpp); d = a * b if not `adds`. `transposed`: d += a *
// b, a being in registers, and b having the rows of its 64 or 128 columns in memory. Those of one
// group, up to wgmma_commit(), are under way together; wgmma_wait_for() waits until no more than
// `left` groups are, and only then may d be used, or what a and b hold be replaced. Both name the
// registers that products use.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
__device__ inline void wgmma_m64n256k16_bf16(float (&d)[128], std::uint64_t a, std::uint64_t b,
                                             bool adds) {
#define GPUBENCH_128(c)                                                                       \
  GPUBENCH_64(c), GPUBENCH_8(c, 64), GPUBENCH_8(c, 72), GPUBENCH_8(c, 80), GPUBENCH_8(c, 88), \
      GPUBENCH_8(c, 96), GPUBENCH_8(c, 104), GPUBENCH_8(c, 112), GPUBENCH_8(c, 120)
  asm volatile(
      "{\n"
      ".reg .pred adds;\n"
      "setp.ne.u32 adds, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, "
      "%127}, "
      "%128, %129, adds, 1, 1, 0, 0;\n"
      "}"
      : GPUBENCH_128("+f")
      : "l"(a), "l"(b), "r"(unsigned{adds}));
#undef GPUBENCH_128
}
// Eight columns of d are d[j]; a[0..3] as of mma.sync.
#define GPUBENCH_COLUMNS(j) "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
#define GPUBENCH_64_COLUMNS(j)                                                                    \
  GPUBENCH_COLUMNS(j), GPUBENCH_COLUMNS(j + 1), GPUBENCH_COLUMNS(j + 2), GPUBENCH_COLUMNS(j + 3), \
      GPUBENCH_COLUMNS(j + 4), GPUBENCH_COLUMNS(j + 5), GPUBENCH_COLUMNS(j + 6),                  \
      GPUBENCH_COLUMNS(j + 7)
#define GPUBENCH_FIRST_32                                                  \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define GPUBENCH_NEXT_32                                                               \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
__device__ inline void wgmma_m64n128k16_bf16(float (&d)[16][4], std::uint64_t a, std::uint64_t b,
                                             bool adds) {
  asm volatile(
      "{\n"
      ".reg .pred adds;\n"
      "setp.ne.u32 adds, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" GPUBENCH_FIRST_32 GPUBENCH_NEXT_32
      "}, %64, %65, adds, 1, 1, 0, 0;\n"
      "}"
      : GPUBENCH_64_COLUMNS(0), GPUBENCH_64_COLUMNS(8)
      : "l"(a), "l"(b), "r"(unsigned{adds}));
}
__device__ inline void wgmma_m64k16_bf16_transposed(float (&d)[8][4], const unsigned (&a)[4],
                                                    std::uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" GPUBENCH_FIRST_32
               "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
               : GPUBENCH_64_COLUMNS(0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
__device__ inline void wgmma_m64k16_bf16_transposed(float (&d)[16][4], const unsigned (&a)[4],
                                                    std::uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" GPUBENCH_FIRST_32 GPUBENCH_NEXT_32
      "}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
      : GPUBENCH_64_COLUMNS(0), GPUBENCH_64_COLUMNS(8)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
#undef GPUBENCH_NEXT_32
#undef GPUBENCH_FIRST_32
#undef GPUBENCH_64_COLUMNS
#undef GPUBENCH_COLUMNS
namespace detail {
// No use of a register moves across.
__device__ inline void pin(float& x) { asm volatile("" : "+f"(x)::"memory"); }
__device__ inline void pin(unsigned& x) { asm volatile("" : "+r"(x)::"memory"); }
template <class T, unsigned count>
__device__ inline void pin(T (&registers)[count]) {
#pragma unroll
  for (unsigned i = 0; i < count; ++i) pin(registers[i]);
}
}  // namespace detail
template <class... Registers>
__device__ inline void wgmma_begin(Registers&... registers) {
  (detail::pin(registers), ...);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <unsigned left, class... Registers>
__device__ inline void wgmma_wait_for(Registers&... registers) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory");
  (detail::pin(registers), ...);
}
#else
__device__ inline void wgmma_m64n256k16_bf16(float (&)[128], std::uint64_t, std::uint64_t, bool) {
  __trap();
}
__device__ inline void wgmma_m64n128k16_bf16(float (&)[16][4], std::uint64_t, std::uint64_t, bool) {
  __trap();
}
template <unsigned fragments>
__device__ inline void wgmma_m64k16_bf16_transposed(float (&)[fragments][4], const unsigned (&)[4],
                                                    std::uint64_t) {
  __trap();
}
__device__ inline void wgmma_commit() {}
template <unsigned left, class... Registers>
__device__ inline void wgmma_wait_for(Registers&...) {}
#endif
#undef GPUBENCH_WGMMA
#undef GPUBENCH_64
#undef GPUBENCH_8
