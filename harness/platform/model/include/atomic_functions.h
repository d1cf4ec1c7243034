// CUDA's atomics. Each returns what was there before, and is counted as one access.
#pragma once

#include <type_traits>

#define GPUBENCH_ATOMIC(name, type) type name(type* address, type value) noexcept;
#define GPUBENCH_ATOMIC_OF_INTEGERS(name) \
  GPUBENCH_ATOMIC(name, int)              \
  GPUBENCH_ATOMIC(name, unsigned int)     \
  GPUBENCH_ATOMIC(name, unsigned long long)
GPUBENCH_ATOMIC_OF_INTEGERS(atomicAdd)
GPUBENCH_ATOMIC(atomicAdd, float)
GPUBENCH_ATOMIC(atomicAdd, double)
GPUBENCH_ATOMIC(atomicSub, int)
GPUBENCH_ATOMIC(atomicSub, unsigned int)
GPUBENCH_ATOMIC_OF_INTEGERS(atomicExch)
GPUBENCH_ATOMIC(atomicExch, float)
GPUBENCH_ATOMIC_OF_INTEGERS(atomicMin)
GPUBENCH_ATOMIC(atomicMin, long long)
GPUBENCH_ATOMIC_OF_INTEGERS(atomicMax)
GPUBENCH_ATOMIC(atomicMax, long long)
GPUBENCH_ATOMIC_OF_INTEGERS(atomicAnd)
GPUBENCH_ATOMIC_OF_INTEGERS(atomicOr)
GPUBENCH_ATOMIC_OF_INTEGERS(atomicXor)
// Up to `value`, then 0; down to 0, then `value`.
GPUBENCH_ATOMIC(atomicInc, unsigned int)
GPUBENCH_ATOMIC(atomicDec, unsigned int)
#undef GPUBENCH_ATOMIC_OF_INTEGERS
#undef GPUBENCH_ATOMIC
int atomicCAS(int* address, int compare, int value) noexcept;
unsigned int atomicCAS(unsigned int* address, unsigned int compare, unsigned int value) noexcept;
unsigned long long atomicCAS(unsigned long long* address, unsigned long long compare,
                             unsigned long long value) noexcept;
unsigned short atomicCAS(unsigned short* address, unsigned short compare,
                         unsigned short value) noexcept;

// With a narrower or wider scope than the device, which the model does not tell from it.
#define GPUBENCH_SCOPED(name, scope)                                                               \
  template <class T>                                                                               \
  inline __attribute__((always_inline)) T name##scope(T* address, std::type_identity_t<T> value) { \
    return name(address, value);                                                                   \
  }
#define GPUBENCH_SCOPED_COMPARE(scope)                                                             \
  template <class T>                                                                               \
  inline __attribute__((always_inline))                                                            \
  T atomicCAS##scope(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value) { \
    return atomicCAS(address, compare, value);                                                     \
  }
#define GPUBENCH_IN_BOTH_SCOPES(name) GPUBENCH_SCOPED(name, _block) GPUBENCH_SCOPED(name, _system)
GPUBENCH_IN_BOTH_SCOPES(atomicAdd)
GPUBENCH_IN_BOTH_SCOPES(atomicSub)
GPUBENCH_IN_BOTH_SCOPES(atomicExch)
GPUBENCH_IN_BOTH_SCOPES(atomicMin)
GPUBENCH_IN_BOTH_SCOPES(atomicMax)
GPUBENCH_IN_BOTH_SCOPES(atomicAnd)
GPUBENCH_IN_BOTH_SCOPES(atomicOr)
GPUBENCH_IN_BOTH_SCOPES(atomicXor)
GPUBENCH_IN_BOTH_SCOPES(atomicInc)
GPUBENCH_IN_BOTH_SCOPES(atomicDec)
GPUBENCH_SCOPED_COMPARE(_block)
GPUBENCH_SCOPED_COMPARE(_system)
#undef GPUBENCH_IN_BOTH_SCOPES
#undef GPUBENCH_SCOPED_COMPARE
#undef GPUBENCH_SCOPED
