// CUDA's vectors of two, three and four numbers.
#pragma once

#include <cstddef>

namespace gpubench::model {

// Copies one vector register's worth in a single access, as the hardware's 8- and 16-byte loads do;
// the compiler would otherwise split the copy of a struct into its members.
template <std::size_t bytes>
struct Whole {
  typedef unsigned char type __attribute__((vector_size(bytes), may_alias));
};
template <std::size_t bytes>
__attribute__((always_inline)) inline void copy_whole(void* to, const void* from) {
  using type = typename Whole<bytes>::type;
  *static_cast<volatile type*>(to) = *static_cast<const volatile type*>(from);
}

}  // namespace gpubench::model

#define GPUBENCH_VECTOR_BODY(type, bytes)                                       \
  constexpr type() = default;                                                   \
  type(const type& other) { gpubench::model::copy_whole<bytes>(this, &other); } \
  type& operator=(const type& other) {                                          \
    gpubench::model::copy_whole<bytes>(this, &other);                           \
    return *this;                                                               \
  }
#define GPUBENCH_VECTOR2(scalar, type)                     \
  struct alignas(2 * sizeof(scalar)) type {                \
    scalar x{}, y{};                                       \
    constexpr type(scalar x_, scalar y_) : x(x_), y(y_) {} \
    GPUBENCH_VECTOR_BODY(type, 2 * sizeof(scalar))         \
  };                                                       \
  inline type make_##type(scalar x, scalar y) { return {x, y}; }
#define GPUBENCH_VECTOR4(scalar, type)                                                         \
  struct alignas(4 * sizeof(scalar)) type {                                                    \
    scalar x{}, y{}, z{}, w{};                                                                 \
    constexpr type(scalar x_, scalar y_, scalar z_, scalar w_) : x(x_), y(y_), z(z_), w(w_) {} \
    GPUBENCH_VECTOR_BODY(type, 4 * sizeof(scalar))                                             \
  };                                                                                           \
  inline type make_##type(scalar x, scalar y, scalar z, scalar w) { return {x, y, z, w}; }

// Three scalars to the hardware.
#define GPUBENCH_VECTOR3(scalar, type) \
  struct type {                        \
    scalar x{}, y{}, z{};              \
  };                                   \
  constexpr type make_##type(scalar x, scalar y, scalar z) { return {x, y, z}; }
// 32 bytes, but aligned to 16: two accesses.
#define GPUBENCH_VECTOR4_OF_8_BYTES(scalar, type)                                              \
  struct alignas(16) type {                                                                    \
    scalar x{}, y{}, z{}, w{};                                                                 \
    constexpr type() = default;                                                                \
    constexpr type(scalar x_, scalar y_, scalar z_, scalar w_) : x(x_), y(y_), z(z_), w(w_) {} \
    type(const type& other) { *this = other; }                                                 \
    type& operator=(const type& other) {                                                       \
      auto* const to = reinterpret_cast<unsigned char*>(this);                                 \
      const auto* const from = reinterpret_cast<const unsigned char*>(&other);                 \
      gpubench::model::copy_whole<16>(to, from);                                               \
      gpubench::model::copy_whole<16>(to + 16, from + 16);                                     \
      return *this;                                                                            \
    }                                                                                          \
  };                                                                                           \
  inline type make_##type(scalar x, scalar y, scalar z, scalar w) { return {x, y, z, w}; }

GPUBENCH_VECTOR2(signed char, char2)
GPUBENCH_VECTOR2(unsigned char, uchar2)
GPUBENCH_VECTOR2(short, short2)
GPUBENCH_VECTOR2(unsigned short, ushort2)
GPUBENCH_VECTOR2(int, int2)
GPUBENCH_VECTOR2(unsigned int, uint2)
GPUBENCH_VECTOR2(float, float2)
GPUBENCH_VECTOR2(double, double2)
GPUBENCH_VECTOR2(long long, longlong2)
GPUBENCH_VECTOR2(unsigned long long, ulonglong2)
GPUBENCH_VECTOR4(signed char, char4)
GPUBENCH_VECTOR4(unsigned char, uchar4)
GPUBENCH_VECTOR4(short, short4)
GPUBENCH_VECTOR4(unsigned short, ushort4)
GPUBENCH_VECTOR4(int, int4)
GPUBENCH_VECTOR4(unsigned int, uint4)
GPUBENCH_VECTOR4(float, float4)
GPUBENCH_VECTOR3(signed char, char3)
GPUBENCH_VECTOR3(unsigned char, uchar3)
GPUBENCH_VECTOR3(short, short3)
GPUBENCH_VECTOR3(unsigned short, ushort3)
GPUBENCH_VECTOR3(int, int3)
GPUBENCH_VECTOR3(unsigned int, uint3)
GPUBENCH_VECTOR3(float, float3)
GPUBENCH_VECTOR4_OF_8_BYTES(double, double4)
GPUBENCH_VECTOR4_OF_8_BYTES(long long, longlong4)
GPUBENCH_VECTOR4_OF_8_BYTES(unsigned long long, ulonglong4)
#undef GPUBENCH_VECTOR2
#undef GPUBENCH_VECTOR3
#undef GPUBENCH_VECTOR4
#undef GPUBENCH_VECTOR4_OF_8_BYTES
#undef GPUBENCH_VECTOR_BODY
