// When a result counts as right.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

namespace gpubench {

inline constexpr int poison_byte = 0xFF;  // NaN in every floating-point type

// An element as one number: memcmp() is called for each of millions where little is optimised.
template <class T>
using ElementBits = std::conditional_t<
    sizeof(T) == 1, std::uint8_t,
    std::conditional_t<
        sizeof(T) == 2, std::uint16_t,
        std::conditional_t<sizeof(T) == 4, std::uint32_t,
                           std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                              std::array<unsigned char, sizeof(T)>>>>>;

template <class T>
[[gnu::always_inline]] inline bool is_poison(const T& element) {
  static constexpr ElementBits<T> poison = [] {
    std::array<unsigned char, sizeof(T)> bytes;
    bytes.fill(poison_byte);
    return std::bit_cast<ElementBits<T>>(bytes);
  }();
  return std::bit_cast<ElementBits<T>>(element) == poison;
}

// A NaN that nobody expects is wrong; to expect one is to expect that an element was left
// untouched.
template <class T>
[[gnu::always_inline]] __host__ __device__ inline bool is_right(T got, T expected, double relative,
                                                                double absolute) {
  if constexpr (std::is_integral_v<T>) {
    return got == expected;
  } else {
    const double want = static_cast<double>(expected);
    if (want != want) return got != got;
    if (want - want != 0) return got == expected;  // infinite
    const double difference = static_cast<double>(got) - want;
    const double allowed = absolute + relative * (want < 0 ? -want : want);
    return (difference < 0 ? -difference : difference) <= allowed;
  }
}

// What an element must be before it is rounded to its own type. The tolerance allows for that
// rounding: compared after it, two results on either side of a tie are a whole unit apart.
struct Unrounded {
  double value;
  __host__ __device__ explicit Unrounded(double exact) : value(exact) {}
  __host__ __device__ explicit operator double() const { return value; }
};
// As what elements of type T are compared with the results of `Expected`.
template <class T, class Expected>
using Compared = std::conditional_t<
    std::is_same_v<std::invoke_result_t<const Expected&, std::size_t>, Unrounded>, double, T>;

std::string number_text(double number);
std::string number_text(long long number);
std::string number_text(unsigned long long number);
// "element INDEX is GOT, expected EXPECTED".
std::string describe_wrong(std::size_t index, const std::string& got, const std::string& expected);
// What to say when fewer elements than all were there to be checked.
std::string describe_written(std::size_t written, std::size_t all);

template <class T>
std::string describe_wrong(std::size_t index, T got, T expected) {
  using Number =
      std::conditional_t<!std::is_integral_v<T>, double,
                         std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>>;
  return describe_wrong(index, number_text(static_cast<Number>(got)),
                        number_text(static_cast<Number>(expected)));
}

// "" when all of `got`, in the host's memory, is right, else the first wrong element in words.
// `only_written`: elements that still hold the poison pass, but not if all do.
template <class T, class Expected>
std::string check_on_host(std::span<T> got, Expected expected, double relative, double absolute,
                          bool only_written) {
  using As = Compared<T, Expected>;
  std::size_t checked = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (only_written && is_poison(got[i])) continue;
    const auto is = static_cast<As>(got[i]), want = static_cast<As>(expected(i));
    if (!is_right(is, want, relative, absolute)) return describe_wrong(i, is, want);
    ++checked;
  }
  return checked == 0 ? "nothing came back to the host" : "";
}

}  // namespace gpubench
