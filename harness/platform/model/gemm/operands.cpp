#include "harness/platform/model/gemm/operands.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <bit>
#include <cstdint>

#include "harness/platform/model/gemm/unit_sums.hpp"

namespace gpubench::model {
namespace {

// In memory.
struct Rows {
  const void* from;
  std::size_t rows, columns, ld;
};

template <class T>
std::vector<double> values_of(const DeviceMemory& memory, const Rows& matrix) {
  std::vector<double> values;
  std::vector<T> row(matrix.columns);
  for (std::size_t r = 0; r < matrix.rows && matrix.columns > 0; ++r) {
    memory.read(row.data(), static_cast<const T*>(matrix.from) + r * matrix.ld,
                matrix.columns * sizeof(T));
    for (const T& element : row) values.push_back(static_cast<double>(element));
  }
  return values;
}

std::vector<double> values_of_fp4(const DeviceMemory& memory, Rows matrix) {
  matrix.columns /= 2;
  matrix.ld /= 2;
  std::vector<double> values;
  for (const double pair : values_of<std::uint8_t>(memory, matrix)) {
    const auto bits = static_cast<unsigned>(pair);
    values.push_back(fp4_value(bits & 15));
    values.push_back(fp4_value(bits >> 4));
  }
  return values;
}

// The library's kernels round a float before the unit sees it (cvt.rna.tf32): a tie goes away from
// zero (pytorch/pytorch issues 49625 and 53635).
std::vector<double> values_of_tf32(const DeviceMemory& memory, const Rows& matrix) {
  std::vector<double> values = values_of<float>(memory, matrix);
  constexpr int mantissa = 10, double_mantissa = 52;
  constexpr std::uint64_t half_a_step = std::uint64_t{1} << (double_mantissa - mantissa - 1);
  for (double& value : values) {
    value =
        cut_to(std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) + half_a_step), mantissa);
  }
  return values;
}

std::vector<double> values_of(GemmType type, bool is_a, const DeviceMemory& memory,
                              const Rows& matrix) {
  switch (type) {
    case GemmType::bf16:
      return values_of<__nv_bfloat16>(memory, matrix);
    case GemmType::fp16:
    case GemmType::fp16_acc16:
      return values_of<__half>(memory, matrix);
    case GemmType::fp32:
      return values_of<float>(memory, matrix);
    case GemmType::tf32:
      return values_of_tf32(memory, matrix);
    case GemmType::fp64:
      return values_of<double>(memory, matrix);
    case GemmType::int8:
      return values_of<std::int8_t>(memory, matrix);
    case GemmType::nvfp4:
      return values_of_fp4(memory, matrix);
    case GemmType::fp8_e5m2:
      return is_a ? values_of<__nv_fp8_e5m2>(memory, matrix)
                  : values_of<__nv_fp8_e4m3>(memory, matrix);
    case GemmType::fp8:
    case GemmType::mxfp8:
      break;
  }
  return values_of<__nv_fp8_e4m3>(memory, matrix);
}

void multiply_by_scales(std::vector<double>& values, GemmType type, const DeviceMemory& memory,
                        const void* scales, const Rows& matrix) {
  const std::size_t together = gemm_format(type).scaled_together;
  const std::size_t blocks = matrix.columns / together;
  std::vector<std::uint8_t> bytes(scale_bytes(matrix.rows, blocks));
  memory.read(bytes.data(), scales, bytes.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t row = i / matrix.columns, block = i % matrix.columns / together;
    const std::uint8_t scale = bytes[scale_offset(row, block, blocks)];
    values[i] *= type == GemmType::mxfp8 ? power_of_two(scale) : unsigned_e4m3(scale);
  }
}

void multiply_by_scale(std::vector<double>& values, const DeviceMemory& memory, const void* scale) {
  if (scale == nullptr) return;
  float factor = 1;
  memory.read(&factor, scale, sizeof factor);
  for (double& value : values) value *= static_cast<double>(factor);
}

}  // namespace

std::pair<std::vector<double>, std::vector<double>> operands_of(const GemmShape& s,
                                                                const DeviceMemory& memory,
                                                                const void* a, const void* b,
                                                                const GemmScales& scales) {
  const Rows of_a = s.a_is_k_by_m ? Rows{a, s.k, s.m, s.lda} : Rows{a, s.m, s.k, s.lda};
  const Rows of_b = s.b_is_k_by_n ? Rows{b, s.k, s.n, s.ldb} : Rows{b, s.n, s.k, s.ldb};
  std::pair operands{values_of(s.type, true, memory, of_a), values_of(s.type, false, memory, of_b)};
  if (gemm_format(s.type).scaled_together > 0) {
    multiply_by_scales(operands.first, s.type, memory, scales.a, of_a);
    multiply_by_scales(operands.second, s.type, memory, scales.b, of_b);
  } else if (gemm_has_one_scale(s.type)) {
    multiply_by_scale(operands.first, memory, scales.a);
    multiply_by_scale(operands.second, memory, scales.b);
  }
  return operands;
}

}  // namespace gpubench::model
