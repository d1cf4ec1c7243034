// What the C library stores where it is told: memcpy, memmove and memset in a kernel
// (include/device_language.h), byte by byte, and functions with more than one result.
#include <cmath>
#include <cstring>

#include "harness/platform/model/emulator/block_runner.hpp"

using gpubench::model::BlockRunner;
using gpubench::model::EventKind;
using gpubench::model::running_block;

namespace {

void require(const void* begin, std::size_t bytes, EventKind kind, const void* code) {
  if (gpubench::model::holds_guarded_code()) {
    gpubench::model::require_own(begin, bytes, kind, code);
  }
}

template <class T>
void store(T* to, T value, const void* code) {
  if (running_block != nullptr) running_block->on_access(to, sizeof(T), EventKind::store, code);
  *to = value;
}

}  // namespace

namespace gpubench::model {

void* copy_bytes(void* to, const void* from, std::size_t bytes) noexcept {
  const void* const code = __builtin_return_address(0);
  BlockRunner* const block = running_block;
  if (block == nullptr || bytes == 0) return std::memmove(to, from, bytes);
  const bool loads = !block->is_own(from, bytes), stores = !block->is_own(to, bytes);
  if (!loads) require(from, bytes, EventKind::load, code);
  if (!stores) require(to, bytes, EventKind::store, code);
  const auto* const source = static_cast<const std::byte*>(from);
  auto* const target = static_cast<std::byte*>(to);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (loads) block->on_access(source + i, 1, EventKind::load, code);
    if (stores) block->on_access(target + i, 1, EventKind::store, code);
  }
  return std::memmove(to, from, bytes);  // they may overlap
}

void* set_bytes(void* to, int byte, std::size_t bytes) noexcept {
  const void* const code = __builtin_return_address(0);
  BlockRunner* const block = running_block;
  if (block == nullptr || bytes == 0) return std::memset(to, byte, bytes);
  const bool stores = !block->is_own(to, bytes);
  if (!stores) require(to, bytes, EventKind::store, code);
  auto* const target = static_cast<std::byte*>(to);
  for (std::size_t i = 0; stores && i < bytes; ++i) {
    block->on_access(target + i, 1, EventKind::store, code);
  }
  return std::memset(to, byte, bytes);
}

}  // namespace gpubench::model

extern "C" {

float __real_frexpf(float x, int* exponent);
double __real_frexp(double x, int* exponent);
float __real_modff(float x, float* whole);
double __real_modf(double x, double* whole);
void __real_sincosf(float x, float* sine, float* cosine);
void __real_sincos(double x, double* sine, double* cosine);

#define GPUBENCH_OF_TWO_RESULTS(name, of, type)        \
  of __wrap_##name(of x, type* second) {               \
    type value{};                                      \
    const of first = __real_##name(x, &value);         \
    store(second, value, __builtin_return_address(0)); \
    return first;                                      \
  }
GPUBENCH_OF_TWO_RESULTS(frexpf, float, int)
GPUBENCH_OF_TWO_RESULTS(frexp, double, int)
GPUBENCH_OF_TWO_RESULTS(modff, float, float)
GPUBENCH_OF_TWO_RESULTS(modf, double, double)
#undef GPUBENCH_OF_TWO_RESULTS
#define GPUBENCH_SINCOS(name, of)                           \
  void __wrap_##name(of x, of* sine, of* cosine) {          \
    of results[2];                                          \
    __real_##name(x, &results[0], &results[1]);             \
    store(sine, results[0], __builtin_return_address(0));   \
    store(cosine, results[1], __builtin_return_address(0)); \
  }
GPUBENCH_SINCOS(sincosf, float)
GPUBENCH_SINCOS(sincos, double)
#undef GPUBENCH_SINCOS

}  // extern "C"
