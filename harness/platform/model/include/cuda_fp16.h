// half precision, as CUDA's header of this name has it; float16.h does the work.
#pragma once

#include "harness/platform/model/include/float16.h"

using __half = gpubench::model::Float16<gpubench::model::half_format>;
using __half2 = gpubench::model::Pair16<gpubench::model::half_format>;
using half = __half;
using half2 = __half2;

__forceinline__ constexpr __half __float2half(float x) { return x; }
__forceinline__ constexpr __half __float2half_rn(float x) { return x; }
__forceinline__ constexpr __half __double2half(double x) { return x; }
__forceinline__ constexpr __half __int2half_rn(int x) { return x; }
__forceinline__ constexpr __half __uint2half_rn(unsigned x) { return x; }
__forceinline__ constexpr float __half2float(__half x) { return x; }
__forceinline__ constexpr unsigned short __half_as_ushort(__half x) { return x.bits(); }
__forceinline__ constexpr __half __ushort_as_half(unsigned short bits) {
  return __half::of_bits(bits);
}

__forceinline__ constexpr __half2 make_half2(__half low, __half high) { return {low, high}; }
__forceinline__ constexpr __half2 __halves2half2(__half low, __half high) { return {low, high}; }
__forceinline__ constexpr __half2 __half2half2(__half x) { return {x, x}; }
__forceinline__ constexpr __half2 __float2half2_rn(float x) { return __half2half2(x); }
__forceinline__ constexpr __half2 __floats2half2_rn(float low, float high) {
  return __half2::rounded(low, high);
}
__forceinline__ __half2 __float22half2_rn(float2 x) { return __floats2half2_rn(x.x, x.y); }
__forceinline__ float2 __half22float2(__half2 x) { return {x.x, x.y}; }
__forceinline__ constexpr __half __low2half(__half2 x) { return x.x; }
__forceinline__ constexpr __half __high2half(__half2 x) { return x.y; }
__forceinline__ constexpr float __low2float(__half2 x) { return x.x; }
__forceinline__ constexpr float __high2float(__half2 x) { return x.y; }
__forceinline__ constexpr __half2 __low2half2(__half2 x) { return {x.x, x.x}; }
__forceinline__ constexpr __half2 __high2half2(__half2 x) { return {x.y, x.y}; }
__forceinline__ constexpr __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
__forceinline__ constexpr __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
__forceinline__ constexpr __half2 __lowhigh2highlow(__half2 x) { return {x.y, x.x}; }
