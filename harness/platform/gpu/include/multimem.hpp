// Memory of several GPUs behind one address, and switches that add: sm_90 and later; a trap before.
// (The model's answer to the same names: harness/platform/model/include/multimem.hpp.)
//
// A multicast address reaches the same place in the memory of each GPU of a team
// (harness/cuda/multicast_memory.hpp). It takes these operations alone: any other access has no
// defined result. Each is of 16 bytes, which begin at a multiple of 16: four numbers of fp32, or
// eight of 16 bits. They are relaxed at system scope, and order nothing: what other
// GPUs have stored can be read once their kernels have been waited for, as with peer memory. One
// kernel does not use a multicast address and a GPU's own one of the same memory. (PTX ISA,
// "multimem.ld_reduce, multimem.st, multimem.red".)
#pragma once

#include <cuda_runtime.h>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define GPUBENCH_MULTIMEM
#endif

// Whether this code has it, or traps.
__device__ constexpr bool has_multimem() {
#ifdef GPUBENCH_MULTIMEM
  return true;
#else
  return false;
#endif
}

// multimem_load_add_TYPE: the sum of what all GPUs have there; of 16 bits, added in fp32 and
// rounded once. multimem_add_TYPE: adds to what each GPU has there.
#ifdef GPUBENCH_MULTIMEM
#define GPUBENCH_MULTIMEM_LOAD(name, type)                                                   \
  __device__ inline uint4 multimem_load_add_##name(const void* at) {                         \
    uint4 sum;                                                                               \
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add" type " {%0, %1, %2, %3}, [%4];" \
                 : "=r"(sum.x), "=r"(sum.y), "=r"(sum.z), "=r"(sum.w)                        \
                 : "l"(__cvta_generic_to_global(at))                                         \
                 : "memory");                                                                \
    return sum;                                                                              \
  }
#define GPUBENCH_MULTIMEM_WRITE(name, operation)                                 \
  __device__ inline void name(void* at, uint4 value) {                           \
    asm volatile("multimem." operation                                           \
                 " [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(at)), \
                 "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w)          \
                 : "memory");                                                    \
  }
#else
#define GPUBENCH_MULTIMEM_LOAD(name, type)                        \
  __device__ inline uint4 multimem_load_add_##name(const void*) { \
    __trap();                                                     \
    return {};                                                    \
  }
#define GPUBENCH_MULTIMEM_WRITE(name, operation) \
  __device__ inline void name(void*, uint4) { __trap(); }
#endif

GPUBENCH_MULTIMEM_LOAD(fp32, ".v4.f32")
GPUBENCH_MULTIMEM_LOAD(fp16, ".acc::f32.v4.f16x2")
GPUBENCH_MULTIMEM_LOAD(bf16, ".acc::f32.v4.bf16x2")
GPUBENCH_MULTIMEM_WRITE(multimem_store, "st.relaxed.sys.global.v4.f32")
GPUBENCH_MULTIMEM_WRITE(multimem_add_fp32, "red.relaxed.sys.global.add.v4.f32")
GPUBENCH_MULTIMEM_WRITE(multimem_add_fp16, "red.relaxed.sys.global.add.v4.f16x2")
GPUBENCH_MULTIMEM_WRITE(multimem_add_bf16, "red.relaxed.sys.global.add.v4.bf16x2")
#undef GPUBENCH_MULTIMEM_LOAD
#undef GPUBENCH_MULTIMEM_WRITE
