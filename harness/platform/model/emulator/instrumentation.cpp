// The instrumentation's entry points. Kernels are compiled with -fsanitize=thread and
// -fsanitize-coverage=trace-pc, which call these at every access, function and basic block; no
// sanitizer runtime is linked. Host code of the same files calls them too and is let through. Where
// the suite's authors have not compared kernels with nvcc's, indices of arrays are checked, and
// arithmetic that a GPU and this processor answer differently, and end here
// (gpubench_checked_kernels in ../CMakeLists.txt).
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "harness/platform/model/emulator/block_runner.hpp"
#include "harness/platform/model/emulator/host_code.hpp"
#include "harness/platform/model/emulator/matrices.hpp"
#include "harness/platform/model/emulator/source_location.hpp"

using gpubench::model::Arithmetic;
using gpubench::model::BlockRunner;
using gpubench::model::count_arithmetic;
using gpubench::model::EventKind;
using gpubench::model::holds_guarded_code;
using gpubench::model::HostCode;
using gpubench::model::running_block;

namespace {

__attribute__((always_inline)) inline void access(const void* address, unsigned bytes,
                                                  EventKind kind, const void* code) {
  BlockRunner* const block = running_block;
  if (block == nullptr) return;
  block->on_access(address, bytes, kind, code);
  if (holds_guarded_code()) {
    block->guard()->announce(reinterpret_cast<std::uint64_t>(address), bytes,
                             kind != EventKind::load);
  }
}

inline void access_pieces(const void* address, unsigned long bytes, EventKind kind,
                          const void* code) {
  BlockRunner* const block = running_block;
  if (block == nullptr) return;
  const auto first = reinterpret_cast<std::uint64_t>(address);
  const bool is_own = block->is_own(address, bytes);
  if (is_own && !holds_guarded_code()) return;
  if ((bytes % 8 == 0 || bytes == 4) && !is_own) block->note_guessed_struct();
  // One of 2 or 4 bytes comes here only if it is aligned to less than its size: byte by byte.
  const unsigned long widest = bytes == 2 || bytes == 4 ? 1 : 4;
  const auto piece = static_cast<unsigned>(std::gcd(std::gcd(bytes, widest), first));
  for (unsigned long i = 0; i < bytes; i += piece) {
    access(static_cast<const char*>(address) + i, piece, kind, code);
  }
  if (holds_guarded_code()) block->guard()->announce(first, bytes, kind != EventKind::load);
}

// A struct of 16 bytes that is aligned to 8 or to 16: the hardware has an access for the latter.
inline void access_struct(const void* address, EventKind kind, const void* code) {
  BlockRunner* const block = running_block;
  if (block == nullptr) return;
  const auto first = reinterpret_cast<std::uint64_t>(address);
  if (first % 16 == 0) {
    if (!block->is_own(first)) block->note_guessed_struct();
    return access(address, 16, kind, code);
  }
  access(address, 8, kind, code);
  access(static_cast<const char*>(address) + 8, 8, kind, code);
}

[[noreturn]] void refuse(const char* what, const void* code, bool is_access = false) {
  if (BlockRunner* const block = running_block) {
    const HostCode host;
    if (is_access) block->refuse_access(what, code);
    block->refuse(what, code);
  }
  // The host's code of the same files, which has no answer either.
  std::fprintf(stderr, "gpubench: %s at %s\n", what,
               gpubench::model::source_location(code).c_str());
  std::abort();
}

}  // namespace

extern "C" {

void __sanitizer_cov_trace_pc() {
  if (BlockRunner* block = running_block) {
    block->on_block(__builtin_return_address(0), __builtin_frame_address(0));
  }
}

void __tsan_init() {}
void __tsan_func_entry(void* call) {
  if (BlockRunner* block = running_block) block->on_enter(call);
}
void __tsan_func_exit() {
  if (BlockRunner* block = running_block) block->on_leave(__builtin_frame_address(0));
}

#define GPUBENCH_ACCESS(prefix, bytes)                                     \
  void __tsan_##prefix##read##bytes(void* address) {                       \
    access(address, bytes, EventKind::load, __builtin_return_address(0));  \
  }                                                                        \
  void __tsan_##prefix##write##bytes(void* address) {                      \
    access(address, bytes, EventKind::store, __builtin_return_address(0)); \
  }
GPUBENCH_ACCESS(, 1)
GPUBENCH_ACCESS(, 2)
GPUBENCH_ACCESS(, 4)
GPUBENCH_ACCESS(, 8)
void __tsan_read16(void* address) {
  access_struct(address, EventKind::load, __builtin_return_address(0));
}
void __tsan_write16(void* address) {
  access_struct(address, EventKind::store, __builtin_return_address(0));
}
// Accesses to volatile objects, as which include/vectors.h copies CUDA's vectors: these are aligned
// to their size.
GPUBENCH_ACCESS(volatile_, 1)
GPUBENCH_ACCESS(volatile_, 2)
GPUBENCH_ACCESS(volatile_, 4)
GPUBENCH_ACCESS(volatile_, 8)
GPUBENCH_ACCESS(volatile_, 16)
// The compiler cannot prove these aligned; the emulator checks whether they are.
GPUBENCH_ACCESS(unaligned_, 2)
GPUBENCH_ACCESS(unaligned_, 4)
GPUBENCH_ACCESS(unaligned_, 8)
GPUBENCH_ACCESS(unaligned_, 16)
#undef GPUBENCH_ACCESS

// Copies of whole structs; as the hardware has no such access, one of each 4-byte word, or of what
// divides an odd struct: its size is a multiple of its alignment. nvcc takes pieces of that
// alignment, which nobody says here: docs/model.md, "What it counts".
void __tsan_read_range(void* address, unsigned long bytes) {
  access_pieces(address, bytes, EventKind::load, __builtin_return_address(0));
}
void __tsan_write_range(void* address, unsigned long bytes) {
  access_pieces(address, bytes, EventKind::store, __builtin_return_address(0));
}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

// The compiler turns host code's atomics (shared pointers, guards of statics) into these.
#define GPUBENCH_ATOMICS(bits)                                                                     \
  std::uint##bits##_t __tsan_atomic##bits##_load(const volatile std::uint##bits##_t* p, int) {     \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                \
  void __tsan_atomic##bits##_store(volatile std::uint##bits##_t* p, std::uint##bits##_t v, int) {  \
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                      \
  }                                                                                                \
  std::uint##bits##_t __tsan_atomic##bits##_exchange(volatile std::uint##bits##_t* p,              \
                                                     std::uint##bits##_t v, int) {                 \
    return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                            \
  }                                                                                                \
  std::uint##bits##_t __tsan_atomic##bits##_fetch_add(volatile std::uint##bits##_t* p,             \
                                                      std::uint##bits##_t v, int) {                \
    return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);                                             \
  }                                                                                                \
  std::uint##bits##_t __tsan_atomic##bits##_fetch_sub(volatile std::uint##bits##_t* p,             \
                                                      std::uint##bits##_t v, int) {                \
    return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST);                                             \
  }                                                                                                \
  bool __tsan_atomic##bits##_compare_exchange_strong(volatile std::uint##bits##_t* p,              \
                                                     std::uint##bits##_t* expected,                \
                                                     std::uint##bits##_t v, int, int) {            \
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }
GPUBENCH_ATOMICS(8)
GPUBENCH_ATOMICS(32)
GPUBENCH_ATOMICS(64)
#undef GPUBENCH_ATOMICS
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// Each is handed a description of the place, which the return address gives as well.
[[noreturn]] void __ubsan_handle_shift_out_of_bounds_abort(void*, unsigned long,
                                                           unsigned long bits) {
  // No std::string: its code may be that which the linker took from a file with kernels.
  char what[80];
  std::snprintf(what, sizeof what, "shift by %ld bits, out of the integer's range,",
                static_cast<long>(bits));
  refuse(what, __builtin_return_address(0));
}
[[noreturn]] void __ubsan_handle_float_cast_overflow_abort(void*, unsigned long) {
  refuse("conversion of a float that is NaN or out of the integer's range",
         __builtin_return_address(0));
}
// The beginning of what the compiler hands over: where, and the types of the array and its index.
struct Outside {
  struct Type {
    std::uint16_t kind, info;
    char name[1];
  };
  const char* file;
  std::uint32_t line, column;
  const Type* array;
};
[[noreturn]] void __ubsan_handle_out_of_bounds_abort(const Outside* outside, unsigned long index) {
  char what[160];
  std::snprintf(what, sizeof what, "out of bounds: index %ld of an array that is %.100s,",
                static_cast<long>(index), outside->array->name);
  refuse(what, __builtin_return_address(0), true);
}
// g++ would go on with whatever function lies behind.
[[noreturn]] void __ubsan_handle_missing_return(void*) {
  refuse("end of a function that returns a value, reached without a return,",
         __builtin_return_address(0));
}

// Fused multiply-adds, and the larger and the smaller of two, reach libm as calls (no builtin, no
// FMA instruction in kernel files) and are counted on their way.
float __real_fmaf(float a, float b, float c);
double __real_fma(double a, double b, double c);
float __real_fmaxf(float a, float b);
float __real_fminf(float a, float b);
float __wrap_fmaf(float a, float b, float c) {
  const float result = __real_fmaf(a, b, c);
  if (BlockRunner* block = running_block) {
    block->on_fma(a, b, c, result, __builtin_return_address(0));
  }
  return result;
}
double __wrap_fma(double a, double b, double c) {
  count_arithmetic(Arithmetic::fma_fp64, __builtin_return_address(0));
  return __real_fma(a, b, c);
}
float __wrap_fmaxf(float a, float b) {
  count_arithmetic(Arithmetic::max_fp32, __builtin_return_address(0));
  return __real_fmaxf(a, b);
}
float __wrap_fminf(float a, float b) {
  count_arithmetic(Arithmetic::max_fp32, __builtin_return_address(0));
  return __real_fminf(a, b);
}

}  // extern "C"

namespace gpubench::model {
namespace {

#ifdef __x86_64__
[[gnu::target("avx2,fma"), gnu::optimize("O3")]] void multiply_add_in_vectors(
    float* sums, const float* a, unsigned rows, const float* b, unsigned columns) {
  for (unsigned i = 0; i < rows; ++i) {
    float* const row = sums + std::size_t{i} * columns;
    const float factor = a[i];
    for (unsigned j = 0; j < columns; ++j) row[j] = __builtin_fmaf(factor, b[j], row[j]);
  }
}
#endif

}  // namespace

void multiply_add_outer(float* sums, const float* a, unsigned rows, const float* b,
                        unsigned columns) {
#ifdef __x86_64__
  static const bool has_fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has_fma) return multiply_add_in_vectors(sums, a, rows, b, columns);
#endif
  for (unsigned i = 0; i < rows; ++i) {
    for (unsigned j = 0; j < columns; ++j) {
      float& sum = sums[i * columns + j];
      sum = __real_fmaf(a[i], b[j], sum);
    }
  }
}

}  // namespace gpubench::model
