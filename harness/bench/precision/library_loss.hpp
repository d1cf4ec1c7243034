// The law of each format of the library: what rounding operands and adding up cost it.
#pragma once

#include <cmath>

#include "harness/platform/gemm.hpp"
#include "kernels/precision/laws.cuh"

namespace precision {

static_assert(gemm_format(gpubench::GemmType::mxfp8).scaled_together == Mxfp8::together &&
              gemm_format(gpubench::GemmType::nvfp4).scaled_together == Nvfp4::together);

// A library's multiplication with sums of k products.
inline Loss library_loss(gpubench::GemmType type, Contents contents, double k, double step) {
  using enum gpubench::GemmType;
  if (contents == Contents::zeros || contents == Contents::constant) return {};
  const double both = std::sqrt(2.0), in_tensor_core = cut_sum_loss(u_fp32, k, step);
  switch (type) {
    case fp64:
      return {0, nearest_sum_loss(u_fp64, k, step)};
    case fp32:
      return {both * rounding_loss(u_fp32), nearest_sum_loss(u_fp32, k, step)};
    case tf32:
      // The library rounds on Ampere; that it does everywhere is not documented.
      return {both * rounding_loss(u_tf32), in_tensor_core, cutting_loss_of_product(u_tf32)};
    case fp16:
      return {both * rounding_loss(u_fp16), in_tensor_core};
    case fp16_acc16:
      return {both * rounding_loss(u_fp16), nearest_sum_loss(u_fp16, k, step)};
    case bf16:
      return {both * rounding_loss(u_bf16), in_tensor_core};
    case fp8:
      return {both * rounding_loss(u_e4m3, largest_e4m3 / 256), in_tensor_core};
    case fp8_e5m2:
      return {std::hypot(rounding_loss(u_e5m2, largest_e5m2 / 32768),
                         rounding_loss(u_e4m3, largest_e4m3 / 256)),
              in_tensor_core};
    case mxfp8:
      return {both * rounding_loss(u_e4m3), in_tensor_core};
    case nvfp4:
      return {both * nvfp4_loss(), in_tensor_core};
    case int8:
      break;
  }
  return {both * step_loss(largest_int8, root_mean_square(contents)), 0};
}

}  // namespace precision
