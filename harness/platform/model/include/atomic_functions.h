// CUDA's atomics. Each returns what was there before, and is counted as one access.
#pragma once

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
