// When a result counts as right.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>

namespace gpubench {

inline constexpr int poison_byte = 0xFF;  // NaN in every floating-point type

template <class T>
bool is_poison(const T& element) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&element);
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    if (bytes[i] != poison_byte) return false;
  }
  return true;
}

// A NaN that nobody expects is wrong; to expect one is to expect that an element was left
// untouched.
template <class T>
__host__ __device__ bool is_right(T got, T expected, double relative, double absolute) {
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
  std::size_t checked = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (only_written && is_poison(got[i])) continue;
    const T want = static_cast<T>(expected(i));
    if (!is_right(got[i], want, relative, absolute)) return describe_wrong(i, got[i], want);
    ++checked;
  }
  return checked == 0 ? "nothing came back to the host" : "";
}

}  // namespace gpubench
