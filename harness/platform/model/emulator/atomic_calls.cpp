// CUDA's atomics, as include/atomic_functions.h has them.
#include "harness/platform/model/include/atomic_functions.h"

#include <algorithm>

#include "harness/platform/model/emulator/counted_atomic.hpp"

using gpubench::model::counted_atomic;

#define GPUBENCH_ATOMIC(name, type, result)                          \
  type name(type* address, type value) noexcept {                    \
    return counted_atomic(address, __builtin_return_address(0),      \
                          [&](type old) -> type { return result; }); \
  }
#define GPUBENCH_ATOMIC_OF_INTEGERS(name, result) \
  GPUBENCH_ATOMIC(name, int, result)              \
  GPUBENCH_ATOMIC(name, unsigned int, result)     \
  GPUBENCH_ATOMIC(name, unsigned long long, result)
// A signed sum wraps around.
GPUBENCH_ATOMIC(atomicAdd, int,
                static_cast<int>(static_cast<unsigned>(old) + static_cast<unsigned>(value)))
GPUBENCH_ATOMIC(atomicAdd, unsigned int, old + value)
GPUBENCH_ATOMIC(atomicAdd, unsigned long long, old + value)
GPUBENCH_ATOMIC(atomicAdd, float, old + value)
GPUBENCH_ATOMIC(atomicAdd, double, old + value)
GPUBENCH_ATOMIC(atomicSub, int,
                static_cast<int>(static_cast<unsigned>(old) - static_cast<unsigned>(value)))
GPUBENCH_ATOMIC(atomicSub, unsigned int, old - value)
GPUBENCH_ATOMIC_OF_INTEGERS(atomicExch, (static_cast<void>(old), value))
GPUBENCH_ATOMIC(atomicExch, float, (static_cast<void>(old), value))
GPUBENCH_ATOMIC_OF_INTEGERS(atomicMin, std::min(old, value))
GPUBENCH_ATOMIC(atomicMin, long long, std::min(old, value))
GPUBENCH_ATOMIC_OF_INTEGERS(atomicMax, std::max(old, value))
GPUBENCH_ATOMIC(atomicMax, long long, std::max(old, value))
GPUBENCH_ATOMIC_OF_INTEGERS(atomicAnd, old& value)
GPUBENCH_ATOMIC_OF_INTEGERS(atomicOr, old | value)
GPUBENCH_ATOMIC_OF_INTEGERS(atomicXor, old ^ value)
GPUBENCH_ATOMIC(atomicInc, unsigned int, old >= value ? 0 : old + 1)
GPUBENCH_ATOMIC(atomicDec, unsigned int, old == 0 || old > value ? value : old - 1)
#undef GPUBENCH_ATOMIC_OF_INTEGERS
#undef GPUBENCH_ATOMIC

#define GPUBENCH_COMPARE(type)                                                     \
  type atomicCAS(type* address, type compare, type value) noexcept {               \
    return counted_atomic(address, __builtin_return_address(0),                    \
                          [&](type old) { return old == compare ? value : old; }); \
  }
GPUBENCH_COMPARE(int)
GPUBENCH_COMPARE(unsigned int)
GPUBENCH_COMPARE(unsigned long long)
GPUBENCH_COMPARE(unsigned short)
#undef GPUBENCH_COMPARE
