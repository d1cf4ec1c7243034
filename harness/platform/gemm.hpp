// A matrix multiplication by cuBLASLt. (Defined in gemm.cpp for a GPU, and in
// harness/platform/model/gemm/gemm.cpp for the model device, where it is an operation: priced, and
// computed where it is small.)
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

namespace gpubench {

// What A and B hold, and so which unit multiplies. Sums are fp32 (int8: int32). D holds the same
// type, except: tf32 is fp32 in memory; of fp8 (e4m3) D is bf16; of int8 it is int32. fp32 is not
// for the Tensor Cores: multiply-adds in full precision.
enum class GemmType { bf16, fp16, tf32, fp8, int8, fp32 };

constexpr const char* gemm_type_name(GemmType type) {
  constexpr const char* names[] = {"bf16", "fp16", "tf32", "fp8", "int8", "fp32"};
  return names[static_cast<std::size_t>(type)];
}
constexpr std::size_t gemm_operand_bytes(GemmType type) {
  return type == GemmType::tf32 || type == GemmType::fp32  ? 4
         : type == GemmType::fp8 || type == GemmType::int8 ? 1
                                                           : 2;
}
constexpr std::size_t gemm_result_bytes(GemmType type) {
  return gemm_operand_bytes(type) == 4 || type == GemmType::int8 ? 4 : 2;
}
// The roof of the unit that multiplies.
inline std::string gemm_roof(GemmType type) {
  return (type == GemmType::fp32 ? "" : "tensor_") + std::string(gemm_type_name(type));
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
  // That A, B and D hold.
  double bytes() const {
    const auto rows = static_cast<double>(m), columns = static_cast<double>(n),
               depth = static_cast<double>(k);
    return (rows + columns) * depth * static_cast<double>(gemm_operand_bytes(type)) +
           rows * columns * static_cast<double>(gemm_result_bytes(type));
  }
};

// Several multiplications of one shape in one call.
struct GemmBatch {
  std::size_t count = 1;
  std::size_t a = 0, b = 0, d = 0;  // elements from one multiplication to the next
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

  // Times the library's first `most` algorithms on these operands and keeps the fastest. Waits for
  // the device; D is overwritten. (The model has one algorithm.)
  void tune(const void* a, const void* b, void* d, unsigned most = 16);

  const GemmShape& shape() const;
  const GemmChoice& choice() const;
  // Queues the multiplication. Addresses on the current device, aligned as cudaMalloc gives them;
  // an empty sum (k = 0) is zero.
  void queue(cudaStream_t s, const void* a, const void* b, void* d) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gpubench
