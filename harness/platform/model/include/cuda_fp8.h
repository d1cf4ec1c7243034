// The two 8-bit formats, as CUDA's header of this name has them: storage and conversions, no
// arithmetic. Rounded to nearest even; the constructors saturate (beyond the largest finite number,
// infinities included, is the largest; NaN stays NaN).
#pragma once

#include <type_traits>

#include "harness/platform/model/include/cuda_bf16.h"
#include "harness/platform/model/include/cuda_fp16.h"

using __nv_fp8_storage_t = unsigned char;
using __nv_fp8x2_storage_t = unsigned short;
using __nv_fp8x4_storage_t = unsigned int;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

namespace gpubench::model {

__forceinline__ constexpr SmallFloat fp8_format(__nv_fp8_interpretation_t which) {
  return which == __NV_E4M3 ? e4m3_format : e5m2_format;
}

__forceinline__ constexpr std::uint32_t fp8_of(SmallFloat format, double x,
                                               Overflow overflow = Overflow::finite) {
  return std::is_constant_evaluated() ? encode(format, x, overflow) : round_to(format, x, overflow);
}
__forceinline__ constexpr float float_of(SmallFloat format, std::uint32_t encoding) {
  return static_cast<float>(std::is_constant_evaluated() ? decode(format, encoding)
                                                         : value_of(format, encoding));
}

template <SmallFloat format>
struct Float8 {
  __nv_fp8_storage_t __x = 0;

  constexpr Float8() = default;
  template <class Number>
  requires std::is_arithmetic_v<Number> __forceinline__ constexpr explicit Float8(Number x)
      : __x(static_cast<__nv_fp8_storage_t>(fp8_of(format, static_cast<double>(x)))) {}
  template <SmallFloat wider>
  __forceinline__ constexpr explicit Float8(Float16<wider> x) : Float8(static_cast<float>(x)) {}
  template <class Number>
  requires std::is_arithmetic_v<Number> __forceinline__ constexpr explicit operator Number() const {
    return static_cast<Number>(float_of(format, __x));
  }
  template <SmallFloat wider>
  __forceinline__ constexpr explicit operator Float16<wider>() const {
    return static_cast<float>(*this);
  }
};

// Two or four in a word, the first in its lowest byte.
template <SmallFloat format>
struct alignas(2) Float8x2 {
  __nv_fp8x2_storage_t __x = 0;

  constexpr Float8x2() = default;
  __forceinline__ explicit Float8x2(float2 v)
      : __x(static_cast<__nv_fp8x2_storage_t>(fp8_of(format, v.x) | fp8_of(format, v.y) << 8)) {}
  template <SmallFloat wider>
  __forceinline__ explicit Float8x2(Pair16<wider> v) : Float8x2(float2(v.x, v.y)) {}
  __forceinline__ explicit operator float2() const {
    return {float_of(format, __x & 0xff), float_of(format, __x >> 8)};
  }
  __forceinline__ explicit operator __half2() const {
    return {float_of(format, __x & 0xff), float_of(format, __x >> 8)};
  }
};
template <SmallFloat format>
struct alignas(4) Float8x4 {
  __nv_fp8x4_storage_t __x = 0;

  constexpr Float8x4() = default;
  __forceinline__ explicit Float8x4(float4 v)
      : __x(fp8_of(format, v.x) | fp8_of(format, v.y) << 8 | fp8_of(format, v.z) << 16 |
            fp8_of(format, v.w) << 24) {}
  __forceinline__ explicit operator float4() const {
    return {float_of(format, __x & 0xff), float_of(format, __x >> 8 & 0xff),
            float_of(format, __x >> 16 & 0xff), float_of(format, __x >> 24)};
  }
};

}  // namespace gpubench::model

using __nv_fp8_e4m3 = gpubench::model::Float8<gpubench::model::e4m3_format>;
using __nv_fp8_e5m2 = gpubench::model::Float8<gpubench::model::e5m2_format>;
using __nv_fp8x2_e4m3 = gpubench::model::Float8x2<gpubench::model::e4m3_format>;
using __nv_fp8x2_e5m2 = gpubench::model::Float8x2<gpubench::model::e5m2_format>;
using __nv_fp8x4_e4m3 = gpubench::model::Float8x4<gpubench::model::e4m3_format>;
using __nv_fp8x4_e5m2 = gpubench::model::Float8x4<gpubench::model::e5m2_format>;

// Without saturation: infinity beyond the largest, NaN in E4M3, which has none.
__forceinline__ __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturate,
                                                          __nv_fp8_interpretation_t which) {
  using gpubench::model::Overflow;
  return static_cast<__nv_fp8_storage_t>(
      gpubench::model::fp8_of(gpubench::model::fp8_format(which), x,
                              saturate == __NV_SATFINITE ? Overflow::finite : Overflow::infinite));
}
__forceinline__ __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturate,
                                                         __nv_fp8_interpretation_t which) {
  return __nv_cvt_double_to_fp8(x, saturate, which);
}
