// Memory of several GPUs behind one address, for the model device. (The GPU's answer to the same
// names, and what they mean: harness/platform/gpu/include/multimem.hpp.)
#pragma once

#include <cstddef>

#include "harness/platform/model/include/device_language.h"

namespace gpubench::model {
enum class Summand { fp32, fp16, bf16 };
inline constexpr std::size_t multimem_bytes = 16;  // of each operation
void load_sum(Summand type, const void* at, void* to) noexcept;
void store_everywhere(void* at, const void* from) noexcept;
void add_everywhere(Summand type, void* at, const void* from) noexcept;
}  // namespace gpubench::model

constexpr bool has_multimem() { return true; }
#define GPUBENCH_MULTIMEM(type)                                                  \
  __forceinline__ uint4 multimem_load_add_##type(const void* at) {               \
    uint4 sum;                                                                   \
    gpubench::model::load_sum(gpubench::model::Summand::type, at, &sum);         \
    return sum;                                                                  \
  }                                                                              \
  __forceinline__ void multimem_add_##type(void* at, uint4 value) {              \
    gpubench::model::add_everywhere(gpubench::model::Summand::type, at, &value); \
  }
GPUBENCH_MULTIMEM(fp32)
GPUBENCH_MULTIMEM(fp16)
GPUBENCH_MULTIMEM(bf16)
#undef GPUBENCH_MULTIMEM
__forceinline__ void multimem_store(void* at, uint4 value) {
  gpubench::model::store_everywhere(at, &value);
}
