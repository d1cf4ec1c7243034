// What half and bfloat16 have in common: a number of 16 bits, a pair of them in 32, and CUDA's
// functions on both, which have the same names for either. cuda_fp16.h and cuda_bf16.h add the
// names that differ.
//
// What is done at run time is a call into the emulator. There it leaves no trace that could be
// taken for the kernel's own control flow, and is counted as the instruction that it stands for.
// The rest has no branches and is always inlined, for the same reason.
#pragma once

#include <type_traits>

#include "harness/platform/model/include/device_language.h"
#include "harness/platform/model/include/small_float.h"

namespace gpubench::model {

// --- in the emulator (emulator/float16.cpp) ---
std::uint32_t round_to(SmallFloat format, double x, Overflow overflow) noexcept;
double value_of(SmallFloat format, std::uint32_t encoding) noexcept;

// On the low 16 bits of the words, or on both halves of them; each result is rounded once.
enum class Lanes { one, both };
template <SmallFloat format>
struct Arithmetic16 {
  using Word = std::uint32_t;
  // One instruction each, on a half as on a pair.
  static Word add(Lanes lanes, Word a, Word b) noexcept;
  static Word multiply(Lanes lanes, Word a, Word b) noexcept;
  static Word fuse(Lanes lanes, Word a, Word b, Word c) noexcept;  // a * b + c
  static Word pack(float low, float high) noexcept;                // each rounded
  // Sequences of instructions on the hardware, not counted.
  static Word divide(Lanes lanes, Word a, Word b) noexcept;
  static Word square_root(Lanes lanes, Word a) noexcept;
  // For a number and a NaN: the number, or NaN if `keep_nan`. -0 is less than +0.
  static Word smaller(Lanes lanes, Word a, Word b, bool keep_nan) noexcept;
  static Word larger(Lanes lanes, Word a, Word b, bool keep_nan) noexcept;
  // An atomic, which returns what was there.
  static std::uint16_t add_to(std::uint16_t* address, std::uint16_t value) noexcept;
  static Word add_to_both(Word* address, Word value) noexcept;
  // By one operation of the special-function unit, or two.
  static float hyperbolic_tangent(float x) noexcept;
};

// --- one number ---
template <SmallFloat format>
struct Float16 {
  constexpr Float16() = default;
  __forceinline__ constexpr Float16(double x)  // rounds to nearest, ties to even
      : bits_(static_cast<std::uint16_t>(std::is_constant_evaluated()
                                             ? encode(format, x)
                                             : round_to(format, x, Overflow::infinite))) {}
  __forceinline__ constexpr Float16(float x) : Float16(static_cast<double>(x)) {}
  template <class Integer>
  requires std::is_integral_v<Integer> __forceinline__ constexpr Float16(Integer x)
      : Float16(static_cast<double>(x)) {
    static_assert(sizeof(Integer) <= 4, "a 64-bit integer would be rounded twice");
  }
  static __forceinline__ constexpr Float16 of_bits(std::uint32_t bits) {
    Float16 x;
    x.bits_ = static_cast<std::uint16_t>(bits);
    return x;
  }
  __forceinline__ constexpr std::uint16_t bits() const { return bits_; }
  __forceinline__ constexpr operator float() const {
    return static_cast<float>(std::is_constant_evaluated() ? decode(format, bits_)
                                                           : value_of(format, bits_));
  }

  friend __forceinline__ constexpr Float16 __hneg(Float16 a) { return of_bits(a.bits_ ^ sign); }
  friend __forceinline__ constexpr Float16 __habs(Float16 a) {
    return of_bits(a.bits_ & magnitude);
  }
#define GPUBENCH_BINARY(name, call) \
  friend __forceinline__ Float16 name(Float16 a, Float16 b) { return of_bits(Arithmetic::call); }
  GPUBENCH_BINARY(__hadd, add(Lanes::one, a.bits_, b.bits_))
  GPUBENCH_BINARY(__hsub, add(Lanes::one, a.bits_, __hneg(b).bits_))
  GPUBENCH_BINARY(__hmul, multiply(Lanes::one, a.bits_, b.bits_))
  GPUBENCH_BINARY(__hdiv, divide(Lanes::one, a.bits_, b.bits_))
  GPUBENCH_BINARY(__hmin, smaller(Lanes::one, a.bits_, b.bits_, false))
  GPUBENCH_BINARY(__hmax, larger(Lanes::one, a.bits_, b.bits_, false))
  GPUBENCH_BINARY(__hmin_nan, smaller(Lanes::one, a.bits_, b.bits_, true))
  GPUBENCH_BINARY(__hmax_nan, larger(Lanes::one, a.bits_, b.bits_, true))
  // Never contracted into a multiply-add, as nothing is here.
  GPUBENCH_BINARY(__hadd_rn, add(Lanes::one, a.bits_, b.bits_))
  GPUBENCH_BINARY(__hsub_rn, add(Lanes::one, a.bits_, __hneg(b).bits_))
  GPUBENCH_BINARY(__hmul_rn, multiply(Lanes::one, a.bits_, b.bits_))
  GPUBENCH_BINARY(operator+, add(Lanes::one, a.bits_, b.bits_))
  GPUBENCH_BINARY(operator-, add(Lanes::one, a.bits_, __hneg(b).bits_))
  GPUBENCH_BINARY(operator*, multiply(Lanes::one, a.bits_, b.bits_))
  GPUBENCH_BINARY(operator/, divide(Lanes::one, a.bits_, b.bits_))
#undef GPUBENCH_BINARY
  friend __forceinline__ Float16 __hfma(Float16 a, Float16 b, Float16 c) {
    return of_bits(Arithmetic::fuse(Lanes::one, a.bits_, b.bits_, c.bits_));
  }
  friend __forceinline__ Float16 hsqrt(Float16 a) {
    return of_bits(Arithmetic::square_root(Lanes::one, a.bits_));
  }
  // As floats, rounded once more.
#define GPUBENCH_AS_FLOAT(name, function) \
  friend __forceinline__ Float16 name(Float16 a) { return function(static_cast<float>(a)); }
  GPUBENCH_AS_FLOAT(hexp, __expf)
  GPUBENCH_AS_FLOAT(hexp2, exp2f)
  GPUBENCH_AS_FLOAT(hexp10, __exp10f)
  GPUBENCH_AS_FLOAT(hlog, __logf)
  GPUBENCH_AS_FLOAT(hlog2, __log2f)
  GPUBENCH_AS_FLOAT(hlog10, __log10f)
  GPUBENCH_AS_FLOAT(hrcp, __frcp_rn)
  GPUBENCH_AS_FLOAT(hrsqrt, rsqrtf)
  GPUBENCH_AS_FLOAT(htanh, Arithmetic::hyperbolic_tangent)
  GPUBENCH_AS_FLOAT(hsin, sinf)
  GPUBENCH_AS_FLOAT(hcos, cosf)
  GPUBENCH_AS_FLOAT(hfloor, floorf)
  GPUBENCH_AS_FLOAT(hceil, ceilf)
  GPUBENCH_AS_FLOAT(htrunc, truncf)
  GPUBENCH_AS_FLOAT(hrint, rintf)
#undef GPUBENCH_AS_FLOAT
  friend __forceinline__ Float16 atomicAdd(Float16* address, Float16 value) {
    return of_bits(Arithmetic::add_to(&address->bits_, value.bits_));
  }
  friend __forceinline__ constexpr Float16 operator-(Float16 a) { return __hneg(a); }
  friend __forceinline__ constexpr Float16 operator+(Float16 a) { return a; }
#define GPUBENCH_ASSIGN(operation)                                               \
  friend __forceinline__ Float16& operator operation##=(Float16& a, Float16 b) { \
    return a = a operation b;                                                    \
  }
  GPUBENCH_ASSIGN(+)
  GPUBENCH_ASSIGN(-)
  GPUBENCH_ASSIGN(*)
  GPUBENCH_ASSIGN(/)
#undef GPUBENCH_ASSIGN
#define GPUBENCH_COMPARE(name, operation)                         \
  friend __forceinline__ bool name(Float16 a, Float16 b) {        \
    return static_cast<float>(a) operation static_cast<float>(b); \
  }                                                               \
  friend __forceinline__ bool operator operation(Float16 a, Float16 b) { return name(a, b); }
  GPUBENCH_COMPARE(__heq, ==)
  GPUBENCH_COMPARE(__hneu, !=)  // also when one is NaN
  GPUBENCH_COMPARE(__hlt, <)
  GPUBENCH_COMPARE(__hle, <=)
  GPUBENCH_COMPARE(__hgt, >)
  GPUBENCH_COMPARE(__hge, >=)
#undef GPUBENCH_COMPARE
  friend __forceinline__ constexpr bool __hisnan(Float16 a) {
    return (a.bits_ & magnitude) > infinity;
  }
  friend __forceinline__ constexpr int __hisinf(Float16 a) {  // 1, -1 or 0
    return static_cast<int>(a.bits_ == infinity) - static_cast<int>(a.bits_ == (sign | infinity));
  }

 private:
  using Arithmetic = Arithmetic16<format>;
  static constexpr std::uint32_t sign = format.sign(), magnitude = sign - 1,
                                 infinity = format.largest() + 1;
  std::uint16_t bits_ = 0;
};

// --- a pair ---
// Copied as one word of 32 bits, as the hardware does; the compiler would otherwise split the copy
// into its members. (CUDA's own pairs have a copy constructor for the same reason.)
template <SmallFloat format>
struct alignas(4) Pair16 {
  using Number = Float16<format>;
  Number x, y;

  constexpr Pair16() = default;
  __forceinline__ constexpr Pair16(Number low, Number high) : x(low), y(high) {}
  __forceinline__ constexpr Pair16(const Pair16& other) { *this = other; }
  __forceinline__ constexpr Pair16& operator=(const Pair16& other) {
    if (std::is_constant_evaluated()) {
      x = other.x;
      y = other.y;
    } else {
      *reinterpret_cast<Whole*>(this) = *reinterpret_cast<const Whole*>(&other);
    }
    return *this;
  }
  static __forceinline__ Pair16 of_bits(std::uint32_t bits) {
    Pair16 pair;
    *reinterpret_cast<Whole*>(&pair) = bits;
    return pair;
  }
  static __forceinline__ constexpr Pair16 rounded(float low, float high) {
    if (std::is_constant_evaluated()) return {low, high};
    return of_bits(Arithmetic16<format>::pack(low, high));
  }
  __forceinline__ std::uint32_t bits() const { return *reinterpret_cast<const Whole*>(this); }

  friend __forceinline__ Pair16 __hneg2(Pair16 a) { return of_bits(a.bits() ^ signs); }
  friend __forceinline__ Pair16 __habs2(Pair16 a) { return of_bits(a.bits() & ~signs); }
#define GPUBENCH_BINARY(name, call) \
  friend __forceinline__ Pair16 name(Pair16 a, Pair16 b) { return of_bits(Arithmetic::call); }
  GPUBENCH_BINARY(__hadd2, add(Lanes::both, a.bits(), b.bits()))
  GPUBENCH_BINARY(__hsub2, add(Lanes::both, a.bits(), b.bits() ^ signs))
  GPUBENCH_BINARY(__hmul2, multiply(Lanes::both, a.bits(), b.bits()))
  GPUBENCH_BINARY(__h2div, divide(Lanes::both, a.bits(), b.bits()))
  GPUBENCH_BINARY(__hmin2, smaller(Lanes::both, a.bits(), b.bits(), false))
  GPUBENCH_BINARY(__hmax2, larger(Lanes::both, a.bits(), b.bits(), false))
  GPUBENCH_BINARY(__hmin2_nan, smaller(Lanes::both, a.bits(), b.bits(), true))
  GPUBENCH_BINARY(__hmax2_nan, larger(Lanes::both, a.bits(), b.bits(), true))
  GPUBENCH_BINARY(__hadd2_rn, add(Lanes::both, a.bits(), b.bits()))
  GPUBENCH_BINARY(__hsub2_rn, add(Lanes::both, a.bits(), b.bits() ^ signs))
  GPUBENCH_BINARY(__hmul2_rn, multiply(Lanes::both, a.bits(), b.bits()))
  GPUBENCH_BINARY(operator+, add(Lanes::both, a.bits(), b.bits()))
  GPUBENCH_BINARY(operator-, add(Lanes::both, a.bits(), b.bits() ^ signs))
  GPUBENCH_BINARY(operator*, multiply(Lanes::both, a.bits(), b.bits()))
  GPUBENCH_BINARY(operator/, divide(Lanes::both, a.bits(), b.bits()))
#undef GPUBENCH_BINARY
  friend __forceinline__ Pair16 __hfma2(Pair16 a, Pair16 b, Pair16 c) {
    return of_bits(Arithmetic::fuse(Lanes::both, a.bits(), b.bits(), c.bits()));
  }
  friend __forceinline__ Pair16 h2sqrt(Pair16 a) {
    return of_bits(Arithmetic::square_root(Lanes::both, a.bits()));
  }
#define GPUBENCH_OF_EACH(name, of_one) \
  friend __forceinline__ Pair16 name(Pair16 a) { return {of_one(a.x), of_one(a.y)}; }
  GPUBENCH_OF_EACH(h2exp, hexp)
  GPUBENCH_OF_EACH(h2exp2, hexp2)
  GPUBENCH_OF_EACH(h2exp10, hexp10)
  GPUBENCH_OF_EACH(h2log, hlog)
  GPUBENCH_OF_EACH(h2log2, hlog2)
  GPUBENCH_OF_EACH(h2log10, hlog10)
  GPUBENCH_OF_EACH(h2rcp, hrcp)
  GPUBENCH_OF_EACH(h2rsqrt, hrsqrt)
  GPUBENCH_OF_EACH(h2tanh, htanh)
  GPUBENCH_OF_EACH(h2sin, hsin)
  GPUBENCH_OF_EACH(h2cos, hcos)
  GPUBENCH_OF_EACH(h2floor, hfloor)
  GPUBENCH_OF_EACH(h2ceil, hceil)
  GPUBENCH_OF_EACH(h2trunc, htrunc)
  GPUBENCH_OF_EACH(h2rint, hrint)
#undef GPUBENCH_OF_EACH
  friend __forceinline__ Pair16 atomicAdd(Pair16* address, Pair16 value) {
    return of_bits(
        Arithmetic16<format>::add_to_both(reinterpret_cast<Whole*>(address), value.bits()));
  }
  friend __forceinline__ Pair16 operator-(Pair16 a) { return __hneg2(a); }
  friend __forceinline__ Pair16 operator+(Pair16 a) { return a; }
#define GPUBENCH_ASSIGN(operation)                                            \
  friend __forceinline__ Pair16& operator operation##=(Pair16& a, Pair16 b) { \
    return a = a operation b;                                                 \
  }
  GPUBENCH_ASSIGN(+)
  GPUBENCH_ASSIGN(-)
  GPUBENCH_ASSIGN(*)
  GPUBENCH_ASSIGN(/)
#undef GPUBENCH_ASSIGN
// For both numbers: 1 or 0 each; whether both hold.
#define GPUBENCH_COMPARE(name, both, operation)                          \
  friend __forceinline__ Pair16 name(Pair16 a, Pair16 b) {               \
    return {Number(a.x operation b.x), Number(a.y operation b.y)};       \
  }                                                                      \
  friend __forceinline__ bool both(Pair16 a, Pair16 b) {                 \
    return static_cast<bool>((a.x operation b.x) & (a.y operation b.y)); \
  }                                                                      \
  friend __forceinline__ bool operator operation(Pair16 a, Pair16 b) { return both(a, b); }
  GPUBENCH_COMPARE(__heq2, __hbeq2, ==)
  GPUBENCH_COMPARE(__hneu2, __hbneu2, !=)
  GPUBENCH_COMPARE(__hlt2, __hblt2, <)
  GPUBENCH_COMPARE(__hle2, __hble2, <=)
  GPUBENCH_COMPARE(__hgt2, __hbgt2, >)
  GPUBENCH_COMPARE(__hge2, __hbge2, >=)
#undef GPUBENCH_COMPARE

 private:
  using Arithmetic = Arithmetic16<format>;
  typedef std::uint32_t Whole __attribute__((may_alias));
  static constexpr std::uint32_t signs = format.sign() << 16 | format.sign();
};

// A shuffle moves a pair as its word, and a number in the low half of one.
#define GPUBENCH_SHUFFLE16(name, argument_type)                                                    \
  template <SmallFloat format>                                                                     \
  __forceinline__ Pair16<format> name(unsigned mask, Pair16<format> value, argument_type argument, \
                                      int width = warpSize) {                                      \
    return Pair16<format>::of_bits(::name(mask, value.bits(), argument, width));                   \
  }                                                                                                \
  template <SmallFloat format>                                                                     \
  __forceinline__ Float16<format> name(unsigned mask, Float16<format> value,                       \
                                       argument_type argument, int width = warpSize) {             \
    return Float16<format>::of_bits(::name(mask, std::uint32_t{value.bits()}, argument, width));   \
  }
GPUBENCH_SHUFFLE16(__shfl_sync, int)
GPUBENCH_SHUFFLE16(__shfl_up_sync, unsigned)
GPUBENCH_SHUFFLE16(__shfl_down_sync, unsigned)
GPUBENCH_SHUFFLE16(__shfl_xor_sync, int)
#undef GPUBENCH_SHUFFLE16

}  // namespace gpubench::model
