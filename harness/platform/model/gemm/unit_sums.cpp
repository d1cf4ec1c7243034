#include "harness/platform/model/gemm/unit_sums.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "harness/platform/model/include/small_float.h"

namespace gpubench::model {

double cut_to(double x, int mantissa) {
  constexpr int double_mantissa = 52;
  const std::uint64_t rest = (std::uint64_t{1} << (double_mantissa - mantissa)) - 1;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & ~rest);
}

double UnitSums::rounded(double exact) const {
  constexpr int fp32_mantissa = 23;
  switch (type_) {
    case GemmType::int8:
    case GemmType::fp64:
      return exact;
    case GemmType::fp32:
      return static_cast<float>(exact);
    case GemmType::fp16_acc16:
      return decode(half_format, encode(half_format, exact));
    default:
      return cut_to(exact, fp32_mantissa);
  }
}

double UnitSums::sum(Strided a, Strided b, std::size_t k) const {
  double sum = 0;
  for (std::size_t begin = 0; begin < k; begin += step_) {
    const std::size_t end = std::min(begin + step_, k);
    for (std::size_t i = begin; i < end; ++i) sum = std::fma(a[i], b[i], sum);
    sum = rounded(sum);
  }
  return sum;
}

}  // namespace gpubench::model
