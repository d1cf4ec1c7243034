// What a matrix multiplication by cuBLASLt costs: tile and wave quantisation, bytes, and what rows
// that do not begin at 16 bytes make of it.
//
// NVIDIA, "Matrix Multiplication Background User's Guide" (DU-09799-001): D is cut into tiles, a
// block each (section 2.1); the tiles that cuBLAS has and which are the most efficient (2.3); a
// tile that is only partly needed costs a whole one (3.1); so does a wave of tiles, one an SM
// (3.2). Tensor Cores want each row to begin at 16 bytes (2.2; cuBLAS documentation, "Tensor Core
// Usage", lists the conditions); since cuBLAS 11 they are used without that too, by slower kernels.
// How much slower is the device file's. Where tiles are fewer than SMs, each sum may be cut into
// parts that a second kernel adds up (cuBLAS documentation, CUBLASLT_ALGO_CONFIG_SPLITK_NUM), as
// many as SMs are left for. Left out: stream-K, the reuse of L2 between multiplications, and the
// clock that falls under load (which `gemm_efficiency` has in it).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/devices/device.hpp"
#include "harness/platform/gemm.hpp"

namespace gpubench::model {

struct GemmCost {
  unsigned tile_m = 0, tile_n = 0;
  double tiles = 0;
  double parts = 1;  // of each sum, a block each
  double waves = 0;  // of as many blocks as there are SMs; the last one counts whole
  // [s]: tensor (of fp32: fp32), l2, dram, launch
  std::vector<std::pair<std::string, double>> terms;
  double seconds = 0;
  std::string bound;  // the largest term
  std::string roof;   // of the unit that multiplies
};

// The cheapest of the library's tiles, for `batch` multiplications at once. Empty shapes: the
// launch alone. UsageError when the device's file lacks a figure: one without such Tensor Cores,
// say.
GemmCost gemm_cost(const GemmShape& shape, const DeviceSpec& device, std::size_t batch = 1);

// How long the same tiles take on so many SMs [s], where a collective has the others.
double gemm_seconds_on(double sms, const GemmCost& cost, const GemmShape& shape,
                       const DeviceSpec& device, std::size_t batch = 1);

// "" or why there is none: the device has no unit for its type, or cuBLASLt does not take the shape
// (its documentation, cublasLtMatmul).
std::string why_no_gemm(const GemmShape& shape, const DeviceSpec& device);

// At what multiple of bytes, 16 at most, every row of A and B begins and ends; and every row of D.
unsigned operand_alignment(const GemmShape& shape);
unsigned result_alignment(const GemmShape& shape);

}  // namespace gpubench::model
