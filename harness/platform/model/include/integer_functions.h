// CUDA's functions of integers, and of the bits that numbers are made of. Not counted.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

inline int __popc(unsigned int x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned int __brev(unsigned int x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}
inline unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}
inline unsigned int __umul24(unsigned int x, unsigned int y) {
  return (x & 0xffffffu) * (y & 0xffffffu);
}
inline int __mul24(int x, int y) {
  const int low_x = static_cast<int>(static_cast<unsigned>(x) << 8) >> 8;
  const int low_y = static_cast<int>(static_cast<unsigned>(y) << 8) >> 8;
  return static_cast<int>(static_cast<unsigned>(low_x) * static_cast<unsigned>(low_y));
}
inline int __mulhi(int x, int y) { return static_cast<int>(static_cast<long long>(x) * y >> 32); }
inline unsigned int __umulhi(unsigned int x, unsigned int y) {
  return static_cast<unsigned>(static_cast<unsigned long long>(x) * y >> 32);
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}
inline long long __mul64hi(long long x, long long y) {
  return static_cast<long long>(static_cast<__int128>(x) * y >> 64);
}
// Each digit of `selector` (four bits) chooses one of the eight bytes, or with its highest bit that
// byte's sign.
inline unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector) {
  const std::uint64_t bytes = std::uint64_t{y} << 32 | x;
  unsigned int result = 0;
  for (unsigned int i = 0; i < 4; ++i) {
    const unsigned int digit = selector >> 4 * i & 0xf;
    unsigned int byte = static_cast<unsigned int>(bytes >> 8 * (digit & 7)) & 0xff;
    if ((digit & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << 8 * i;
  }
  return result;
}
inline unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int by) {
  return static_cast<unsigned int>((std::uint64_t{high} << 32 | low) << (by & 31) >> 32);
}
inline unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int by) {
  return static_cast<unsigned int>((std::uint64_t{high} << 32 | low) >> (by & 31));
}
// The same by at most 32.
inline unsigned int __funnelshift_lc(unsigned int low, unsigned int high, unsigned int by) {
  return by < 32 ? __funnelshift_l(low, high, by) : low;
}
inline unsigned int __funnelshift_rc(unsigned int low, unsigned int high, unsigned int by) {
  return by < 32 ? __funnelshift_r(low, high, by) : high;
}
inline unsigned int __usad(unsigned int x, unsigned int y, unsigned int sum) {
  return sum + (x < y ? y - x : x - y);
}
inline unsigned int __sad(int x, int y, unsigned int sum) {
  const unsigned int difference = static_cast<unsigned>(x) - static_cast<unsigned>(y);
  return sum + (x < y ? 0 - difference : difference);
}
// Means without overflow, rounded down and, with an r, up.
inline int __hadd(int x, int y) { return static_cast<int>((std::int64_t{x} + y) >> 1); }
inline int __rhadd(int x, int y) { return static_cast<int>((std::int64_t{x} + y + 1) >> 1); }
inline unsigned int __uhadd(unsigned int x, unsigned int y) {
  return static_cast<unsigned int>((std::uint64_t{x} + y) >> 1);
}
inline unsigned int __urhadd(unsigned int x, unsigned int y) {
  return static_cast<unsigned int>((std::uint64_t{x} + y + 1) >> 1);
}
// Two products of 16 bits of `a` by the lower two bytes of `b`, or by the upper two, and a sum.
inline int __dp2a_lo(int a, int b, int sum) {
  return static_cast<int>(
      static_cast<unsigned>(sum) +
      static_cast<unsigned>(static_cast<short>(a) * static_cast<signed char>(b)) +
      static_cast<unsigned>((a >> 16) * static_cast<signed char>(b >> 8)));
}
inline int __dp2a_hi(int a, int b, int sum) { return __dp2a_lo(a, b >> 16, sum); }
inline unsigned int __dp2a_lo(unsigned int a, unsigned int b, unsigned int sum) {
  return sum + (a & 0xffff) * (b & 0xff) + (a >> 16) * (b >> 8 & 0xff);
}
inline unsigned int __dp2a_hi(unsigned int a, unsigned int b, unsigned int sum) {
  return __dp2a_lo(a, b >> 16, sum);
}
// Four products of bytes, and a sum.
inline int __dp4a(int a, int b, int sum) {
  unsigned int result = static_cast<unsigned int>(sum);
  for (int i = 0; i < 32; i += 8) {
    result += static_cast<unsigned int>(static_cast<signed char>(a >> i) *
                                        static_cast<signed char>(b >> i));
  }
  return static_cast<int>(result);
}
inline unsigned int __dp4a(unsigned int a, unsigned int b, unsigned int sum) {
  for (int i = 0; i < 32; i += 8) sum += (a >> i & 0xff) * (b >> i & 0xff);
  return sum;
}

#define GPUBENCH_AS(name, to, from) \
  inline to name(from x) { return std::bit_cast<to>(x); }
GPUBENCH_AS(__float_as_int, int, float)
GPUBENCH_AS(__float_as_uint, unsigned int, float)
GPUBENCH_AS(__int_as_float, float, int)
GPUBENCH_AS(__uint_as_float, float, unsigned int)
GPUBENCH_AS(__double_as_longlong, long long, double)
GPUBENCH_AS(__longlong_as_double, double, long long)
#undef GPUBENCH_AS
inline double __hiloint2double(int high, int low) {
  return __longlong_as_double(static_cast<long long>(
      std::uint64_t{static_cast<unsigned>(high)} << 32 | static_cast<unsigned>(low)));
}
inline int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }

namespace gpubench::model {
// A GPU clamps what is out of range. A NaN is 0, but has the highest bit alone where one of the two
// types has 64 bits (PTX ISA, "cvt").
template <class Integer, class Float>
constexpr Integer clamped(Float x) {
  using Limits = std::numeric_limits<Integer>;
  if (x != x) {
    const bool is_zero = sizeof(Float) < 8 && sizeof(Integer) < 8;
    const auto high = std::make_unsigned_t<Integer>{1} << (8 * sizeof(Integer) - 1);
    return is_zero ? Integer{0} : static_cast<Integer>(high);
  }
  if (x <= static_cast<Float>(Limits::min())) return Limits::min();
  return x >= static_cast<Float>(Limits::max()) ? Limits::max() : static_cast<Integer>(x);
}
}  // namespace gpubench::model
#define GPUBENCH_ROUNDED(name, to, from)                                                  \
  inline to name##_rn(from x) {                                                           \
    return gpubench::model::clamped<to, from>(static_cast<from>(__builtin_nearbyint(x))); \
  }                                                                                       \
  inline to name##_rz(from x) { return gpubench::model::clamped<to, from>(x); }           \
  inline to name##_ru(from x) {                                                           \
    return gpubench::model::clamped<to, from>(static_cast<from>(__builtin_ceil(x)));      \
  }                                                                                       \
  inline to name##_rd(from x) {                                                           \
    return gpubench::model::clamped<to, from>(static_cast<from>(__builtin_floor(x)));     \
  }
GPUBENCH_ROUNDED(__float2int, int, float)
GPUBENCH_ROUNDED(__float2uint, unsigned int, float)
GPUBENCH_ROUNDED(__float2ll, long long, float)
GPUBENCH_ROUNDED(__float2ull, unsigned long long, float)
GPUBENCH_ROUNDED(__double2int, int, double)
GPUBENCH_ROUNDED(__double2uint, unsigned int, double)
GPUBENCH_ROUNDED(__double2ll, long long, double)
GPUBENCH_ROUNDED(__double2ull, unsigned long long, double)
#undef GPUBENCH_ROUNDED
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned int x) { return static_cast<float>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }
inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
inline float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned int x) { return x; }
inline double __ll2double_rn(long long x) { return static_cast<double>(x); }
inline double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }
