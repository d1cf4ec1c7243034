// bfloat16, as CUDA's header of this name has it; float16.h does the work.
#pragma once

#include "harness/platform/model/include/float16.h"

using __nv_bfloat16 = gpubench::model::Float16<gpubench::model::bfloat16_format>;
using __nv_bfloat162 = gpubench::model::Pair16<gpubench::model::bfloat16_format>;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

__forceinline__ constexpr __nv_bfloat16 __float2bfloat16(float x) { return x; }
__forceinline__ constexpr __nv_bfloat16 __float2bfloat16_rn(float x) { return x; }
__forceinline__ constexpr __nv_bfloat16 __double2bfloat16(double x) { return x; }
__forceinline__ constexpr __nv_bfloat16 __int2bfloat16_rn(int x) { return x; }
__forceinline__ constexpr __nv_bfloat16 __uint2bfloat16_rn(unsigned x) { return x; }
__forceinline__ constexpr float __bfloat162float(__nv_bfloat16 x) { return x; }
__forceinline__ constexpr unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits(); }
__forceinline__ constexpr __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  return __nv_bfloat16::of_bits(bits);
}

__forceinline__ constexpr __nv_bfloat162 make_bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) {
  return {low, high};
}
__forceinline__ constexpr __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) {
  return {low, high};
}
__forceinline__ constexpr __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
__forceinline__ constexpr __nv_bfloat162 __float2bfloat162_rn(float x) {
  return __bfloat162bfloat162(x);
}
__forceinline__ constexpr __nv_bfloat162 __floats2bfloat162_rn(float low, float high) {
  return __nv_bfloat162::rounded(low, high);
}
__forceinline__ __nv_bfloat162 __float22bfloat162_rn(float2 x) {
  return __floats2bfloat162_rn(x.x, x.y);
}
__forceinline__ float2 __bfloat1622float2(__nv_bfloat162 x) { return {x.x, x.y}; }
__forceinline__ constexpr __nv_bfloat16 __low2bfloat16(__nv_bfloat162 x) { return x.x; }
__forceinline__ constexpr __nv_bfloat16 __high2bfloat16(__nv_bfloat162 x) { return x.y; }
__forceinline__ constexpr float __low2float(__nv_bfloat162 x) { return x.x; }
__forceinline__ constexpr float __high2float(__nv_bfloat162 x) { return x.y; }
__forceinline__ constexpr __nv_bfloat162 __low2bfloat162(__nv_bfloat162 x) { return {x.x, x.x}; }
__forceinline__ constexpr __nv_bfloat162 __high2bfloat162(__nv_bfloat162 x) { return {x.y, x.y}; }
