// A matrix multiplication by cuBLASLt. (Defined in gemm.cpp for a GPU, and in
// harness/platform/model/gemm/gemm.cpp for the model device, where it is an operation: priced, and
// computed where it is small.)
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "harness/devices/device.hpp"

namespace gpubench {

// What A and B hold, and so which unit multiplies. Sums are fp32, except: fp64 and int8 (int32) in
// their own type, fp16_acc16 in fp16. D holds the same type, except: tf32 is fp32 in memory; of fp8
// (e4m3) D is bf16; of int8 it is int32; of the others of 8 bits or fewer it is fp32. fp32 is not
// for the Tensor Cores: multiply-adds in full precision. fp8_e5m2: A is e5m2, B is e4m3 (the
// library does not multiply e5m2 by e5m2). mxfp8 is e4m3 with a power of two as the scale of each
// 32 elements along k; nvfp4 is e2m1, two in a byte (the first in its lower half), with an e4m3 as
// the scale of each 16.
enum class GemmType { bf16, fp16, tf32, fp8, int8, fp32, fp64, fp16_acc16, fp8_e5m2, mxfp8, nvfp4 };

struct GemmFormat {
  const char* name;
  const char* roof;
  unsigned operand_bits, result_bytes;
  unsigned scaled_together = 0;  // elements along k that have one scale; 0: there are no scales
};
constexpr GemmFormat gemm_format(GemmType type) {
  constexpr GemmFormat formats[] = {
      {"bf16", "tensor_bf16", 16, 2},    {"fp16", "tensor_fp16", 16, 2},
      {"tf32", "tensor_tf32", 32, 4},    {"fp8", "tensor_fp8", 8, 2},
      {"int8", "tensor_int8", 8, 4},     {"fp32", "fp32", 32, 4},
      {"fp64", "tensor_fp64", 64, 8},    {"fp16_acc16", "tensor_fp16_acc16", 16, 2},
      {"fp8_e5m2", "tensor_fp8", 8, 4},  {"mxfp8", "tensor_mxfp8", 8, 4, 32},
      {"nvfp4", "tensor_fp4", 4, 4, 16},
  };
  return formats[static_cast<std::size_t>(type)];
}
constexpr const char* gemm_type_name(GemmType type) { return gemm_format(type).name; }
// What so many elements take.
constexpr std::size_t gemm_operand_bytes(GemmType type, std::size_t elements = 1) {
  return elements * gemm_format(type).operand_bits / 8;
}
// Whether an operand has one scale for all of it.
constexpr bool gemm_has_one_scale(GemmType type) {
  return type == GemmType::fp8 || type == GemmType::fp8_e5m2;
}
constexpr std::size_t gemm_result_bytes(GemmType type) { return gemm_format(type).result_bytes; }
// The roof of the unit that multiplies. Sums in fp16, and fp8 with block scales, have one of their
// own only on devices that are faster with them.
inline std::string gemm_roof(GemmType type, const DeviceSpec& device) {
  std::string roof = gemm_format(type).roof;
  if (device.find(roof + "_flops_per_clock_per_sm")) return roof;
  if (type == GemmType::fp16_acc16) return gemm_format(GemmType::fp16).roof;
  if (type == GemmType::mxfp8) return gemm_format(GemmType::fp8).roof;
  return roof;
}

// The figure that says what the best multiplications reach of that roof. fp8 has one of its own
// where somebody has measured it.
inline const char* gemm_efficiency(GemmType type, const DeviceSpec& device) {
  constexpr auto of_fp8 = "gemm_fp8_efficiency";
  const bool is_fp8 = gemm_format(type).roof == std::string_view(gemm_format(GemmType::fp8).roof);
  return is_fp8 && device.find(of_fp8) ? of_fp8 : "gemm_efficiency";
}

// Where the scale of block `block` of row `row` stands, in bytes, in the array that the library
// takes: tiles of 128 rows by 4 blocks (cuBLAS documentation, "1D Block Scaling Factors Layout").
// `blocks` is how many a row has, `scale_bytes` how large the array is.
__host__ __device__ constexpr std::size_t scale_offset(std::size_t row, std::size_t block,
                                                       std::size_t blocks) {
  const std::size_t tile = row / 128 * ((blocks + 3) / 4) + block / 4;
  return tile * 512 + row % 32 * 16 + row % 128 / 32 * 4 + block % 4;
}
// The other way: what stands at `offset`; of the last tiles also what lies beyond the matrix.
struct ScalePlace {
  std::size_t row, block;
};
__host__ __device__ constexpr ScalePlace scale_place(std::size_t offset, std::size_t blocks) {
  const std::size_t tile = offset / 512, across = (blocks + 3) / 4;
  return {tile / across * 128 + offset % 16 / 4 * 32 + offset % 512 / 16,
          tile % across * 4 + offset % 4};
}
constexpr std::size_t scale_bytes(std::size_t rows, std::size_t blocks) {
  return (rows + 127) / 128 * 128 * ((blocks + 3) / 4) * 4;
}

// Products that the unit adds to a sum before it rounds that. 1: each multiply-add is rounded.
// (Fasi et al., PeerJ CS 7:e330, for Volta to Ampere; Khattak and Mikaitis, arXiv 2512.07004, for
// Hopper.)
constexpr unsigned gemm_step(GemmType type, std::pair<int, int> compute_capability) {
  if (type == GemmType::fp32 || type == GemmType::fp64) return 1;
  const unsigned of_16_bits = compute_capability.first >= 9 ? 16 : 8;
  return of_16_bits * 16 / gemm_format(type).operand_bits;
}

// D[m][n] = sum over k of A[m][k] * B[n][k], all by rows: the operands side by side along k, as a
// linear layer has its activations and its weights (cuBLAS, which counts by columns, calls this
// TN). From one row to the next it is lda, ldb, ldd elements.
struct GemmShape {
  GemmType type = GemmType::bf16;
  std::size_t m = 0, n = 0, k = 0;
  std::size_t lda = 0, ldb = 0, ldd = 0;
  bool b_is_k_by_n = false;  // B[k][n] instead, as textbooks have it (cuBLAS: NN)
  bool a_is_k_by_m = false;  // A[k][m] instead: the gradient of a layer's weights (cuBLAS: NT)
  bool fp32_result = false;  // D is fp32 although A and B have 16 or 8 bits

  // Rows without gaps.
  static constexpr GemmShape dense(GemmType type, std::size_t m, std::size_t n, std::size_t k) {
    return {type, m, n, k, k, k, n};
  }
  static constexpr GemmShape textbook(GemmType type, std::size_t m, std::size_t n, std::size_t k) {
    return {type, m, n, k, k, n, n, true};
  }
  // Both operands by rows of k: a sum over the rows that they have in common.
  static constexpr GemmShape over_rows(GemmType type, std::size_t m, std::size_t n, std::size_t k) {
    return {type, m, n, k, m, n, n, true, true};
  }
  std::size_t b_elements() const { return (b_is_k_by_n ? k : n) * ldb; }
  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
  std::size_t result_bytes() const { return fp32_result ? 4 : gemm_result_bytes(type); }
  // What A, B and D hold.
  double bytes() const {
    const auto rows = static_cast<double>(m), columns = static_cast<double>(n),
               depth = static_cast<double>(k);
    const GemmFormat format = gemm_format(type);
    const double scale = format.scaled_together > 0 ? 1.0 / format.scaled_together : 0;
    return (rows + columns) * depth * (format.operand_bits / 8.0 + scale) +
           rows * columns * static_cast<double>(result_bytes());
  }
};

// Several multiplications of one shape in one call.
struct GemmBatch {
  std::size_t count = 1;
  std::size_t a = 0, b = 0, d = 0;  // elements from one multiplication to the next
};

// Addresses on the device: for types with scales, one byte per block of scaled elements, as
// scale_offset() has them; for those with one scale, a float (nullptr: 1).
struct GemmScales {
  const void *a = nullptr, *b = nullptr;
};

// What the library decided on.
struct GemmChoice {
  std::string algorithm;            // the library's number for it
  unsigned tile_m = 0, tile_n = 0;  // of D, a block's; 0: not said
  double workspace_bytes = 0;
  std::string unit;      // that multiplies: "hmma", "imma", "fma", ...
  double waves = 0;      // of blocks, by the library's own estimate; 0: not said
  unsigned split_k = 1;  // parts of each sum, added up afterwards
  // How many algorithms it is the fastest of, and its place (from 0) in the library's own order.
  unsigned candidates = 1, place = 0;
};

// This library, device or shape does not go; says which.
struct GemmUnavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Gemm {
 public:
  // Asks the library for its best algorithm. GemmUnavailable, CudaError.
  explicit Gemm(const GemmShape& shape, const GemmBatch& batch = {});
  ~Gemm();
  Gemm(Gemm&&) noexcept;

  // Times the library's first `most` algorithms on these operands (of types without scales) and
  // keeps the fastest. Waits for the device; D is overwritten. (The model has one algorithm.)
  void tune(const void* a, const void* b, void* d, unsigned most = 16);

  const GemmShape& shape() const;
  const GemmChoice& choice() const;
  // Queues the multiplication. Addresses on the current device, aligned as cudaMalloc gives them;
  // an empty sum (k = 0) is zero. `scales`: what elements are multiplied by.
  void queue(cudaStream_t s, const void* a, const void* b, void* d,
             const GemmScales& scales = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gpubench
