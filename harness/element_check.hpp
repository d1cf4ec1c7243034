// When a result counts as right.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <sstream>
#include <string>
#include <type_traits>

namespace gpubench {

inline constexpr int poison_byte = 0xFF;  // NaN in every floating-point type

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

template <class T>
std::string describe_wrong(std::size_t index, T got, T expected) {
  std::ostringstream text;
  text.precision(9);
  text << "element " << index << " is ";
  if constexpr (std::is_integral_v<T>) {
    text << +got << ", expected " << +expected;
  } else {
    text << static_cast<double>(got) << ", expected " << static_cast<double>(expected);
  }
  return text.str();
}

}  // namespace gpubench
