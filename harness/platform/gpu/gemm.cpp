#include "harness/platform/gemm.hpp"

#include "harness/cuda/check.hpp"

#ifdef GPUBENCH_CUBLASLT

#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/cuda/buffer.hpp"
#include "harness/cuda/event.hpp"
#include "harness/cuda/residency.hpp"
#include "harness/cuda/stream.hpp"

namespace gpubench {
namespace {

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(call) + ": " + cublasLtGetStatusString(status));
}

#define CUBLAS_CHECK(...) check((__VA_ARGS__), #__VA_ARGS__)

// What NVIDIA's documentation of cuBLAS gives the library itself on Hopper (cublasSetWorkspace).
constexpr std::size_t most_workspace = std::size_t{32} << 20;

// Types with a scale per block came with CUDA 12.8.
#define GPUBENCH_BLOCK_SCALES (CUDART_VERSION >= 12080)
#if !GPUBENCH_BLOCK_SCALES
[[noreturn]] void lack_block_scales() {
  throw GemmUnavailable("built with a cuBLASLt before CUDA 12.8, which has no block scales");
}
#endif

struct Types {
  cudaDataType_t a, b, result;
  cublasComputeType_t compute;
  cudaDataType_t scale = CUDA_R_32F;  // of alpha and beta
};
Types types_of(GemmType type) {
  switch (type) {
    case GemmType::bf16:
      return {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F};
    case GemmType::fp16:
      return {CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F};
    case GemmType::fp16_acc16:
      return {CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F, CUDA_R_16F};
    case GemmType::tf32:
      return {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    case GemmType::fp8:
      return {CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F};
    case GemmType::fp8_e5m2:
      return {CUDA_R_8F_E5M2, CUDA_R_8F_E4M3, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case GemmType::mxfp8:
      return {CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case GemmType::nvfp4:
#if GPUBENCH_BLOCK_SCALES
      return {CUDA_R_4F_E2M1, CUDA_R_4F_E2M1, CUDA_R_32F, CUBLAS_COMPUTE_32F};
#else
      lack_block_scales();
#endif
    case GemmType::fp32:  // not CUBLAS_COMPUTE_32F_FAST_*: no Tensor Cores
      return {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case GemmType::fp64:
      return {CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F};
    case GemmType::int8:
      break;
  }
  return {CUDA_R_8I, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I};
}

// A factor in the type that the library multiplies results by.
struct Factor {
  float single;
  double twice;
  std::int32_t whole;
  std::uint16_t half;

  const void* of(cudaDataType_t type) const {
    return type == CUDA_R_64F   ? static_cast<const void*>(&twice)
           : type == CUDA_R_32I ? static_cast<const void*>(&whole)
           : type == CUDA_R_16F ? static_cast<const void*>(&half)
                                : &single;
  }
};
constexpr Factor one{1, 1, 1, 0x3c00}, zero{0, 0, 0, 0};

// A handle of the library's, destroyed with this.
template <class Handle, cublasStatus_t (*destroy)(Handle)>
class Owned {
 public:
  Owned() = default;
  ~Owned() {
    if (handle_ != nullptr) static_cast<void>(destroy(handle_));
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Handle* place() { return &handle_; }
  operator Handle() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};

// Tiles of the sizes that large multiplications get; of others the row says none. Columns of the
// library's tiles are rows of ours.
std::pair<unsigned, unsigned> tile_of(int id) {
  struct Named {
    int id;
    unsigned columns, rows;
  };
#define TILE(columns, rows) \
  Named { CUBLASLT_MATMUL_TILE_##columns##x##rows, columns, rows }
  constexpr std::array known{
      TILE(32, 32),   TILE(32, 64),   TILE(64, 32),   TILE(32, 128),  TILE(64, 64),
      TILE(128, 32),  TILE(64, 128),  TILE(128, 64),  TILE(64, 256),  TILE(128, 128),
      TILE(256, 64),  TILE(64, 512),  TILE(128, 256), TILE(256, 128), TILE(512, 64),
      TILE(64, 96),   TILE(96, 64),   TILE(96, 128),  TILE(128, 160), TILE(160, 128),
      TILE(192, 128), TILE(128, 192), TILE(128, 96),  TILE(32, 256),  TILE(256, 32),
      TILE(64, 192),  TILE(64, 320),  TILE(64, 384),  TILE(128, 320), TILE(128, 384),
      TILE(192, 64),  TILE(192, 192), TILE(192, 256), TILE(256, 192), TILE(320, 64),
      TILE(320, 128), TILE(384, 64),  TILE(384, 128), TILE(192, 320), TILE(256, 256),
      TILE(320, 192),
  };
#undef TILE
  for (const Named& tile : known) {
    if (tile.id == id) return {tile.rows, tile.columns};
  }
  return {0, 0};
}

std::string unit_of(std::uint64_t flags) {
  return (flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA) != 0   ? "hmma"
         : (flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_IMMA) != 0 ? "imma"
         : (flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_DMMA) != 0 ? "dmma"
         : (flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA) != 0  ? "fma"
                                                             : "";
}

}  // namespace

struct Gemm::State {
  GemmShape shape;
  GemmBatch batch;
  GemmChoice choice;
  Owned<cublasLtHandle_t, cublasLtDestroy> library;
  Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy> multiplication;
  Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy> a, b, d;
  cublasLtMatmulAlgo_t algorithm{};
  DeviceBuffer<char> workspace;
  DeviceBuffer<char> any_scales;  // of blocks, until queue() says which
  DeviceBuffer<float> one_scale;  // of the whole matrix, where queue() says none

  // The library's algorithms in its order, `most` of them.
  std::vector<cublasLtMatmulHeuristicResult_t> candidates(int most) const;
  void take(const cublasLtMatmulHeuristicResult_t& candidate);
  void multiply(const cublasLtMatmulAlgo_t& with, const DeviceBuffer<char>& space, const void* of_a,
                const void* of_b, void* to, cudaStream_t stream) const;
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) const {
    CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(multiplication, attribute, &value, sizeof value));
  }
  bool has_scales() const { return gemm_format(shape.type).scaled_together > 0; }
  bool has_one_scale() const { return gemm_has_one_scale(shape.type); }
  // The library's first operand is our second.
  void set_scales(const void* of_a, const void* of_b) const {
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, of_b);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, of_a);
  }
  void set_scale_modes();
};

std::vector<cublasLtMatmulHeuristicResult_t> Gemm::State::candidates(int most) const {
  Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy> preference;
  CUBLAS_CHECK(cublasLtMatmulPreferenceCreate(preference.place()));
  CUBLAS_CHECK(cublasLtMatmulPreferenceSetAttribute(preference,
                                                    CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                    &most_workspace, sizeof most_workspace));
  // Sums are fp32 throughout: partial sums of a split k may not be rounded to the result's type.
  const std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  CUBLAS_CHECK(cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions, sizeof reductions));
  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<std::size_t>(most));
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      library, multiplication, b, a, d, d, preference, most, found.data(), &count);
  // Which of the three says so depends on the type and the version; but with scales an invalid
  // value may be an address, and nothing about the device.
  const bool refused = status == CUBLAS_STATUS_NOT_SUPPORTED ||
                       (status == CUBLAS_STATUS_INVALID_VALUE && !has_scales()) ||
                       status == CUBLAS_STATUS_ARCH_MISMATCH;
  if (!refused) check(status, "cublasLtMatmulAlgoGetHeuristic");
  found.resize(refused ? 0 : static_cast<std::size_t>(count));
  std::erase_if(found, [](const auto& one) { return one.state != CUBLAS_STATUS_SUCCESS; });
  if (found.empty()) {
    throw GemmUnavailable(std::string("cuBLASLt has no algorithm for ") +
                          gemm_type_name(shape.type) + " in this shape on this device");
  }
  return found;
}

void Gemm::State::take(const cublasLtMatmulHeuristicResult_t& candidate) {
  algorithm = candidate.algo;
  workspace = DeviceBuffer<char>(candidate.workspaceSize);
  const auto configured = [&](cublasLtMatmulAlgoConfigAttributes_t attribute) {
    int value = 0;
    CUBLAS_CHECK(
        cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof value, nullptr));
    return value;
  };
  std::uint64_t implementation = 0;
  CUBLAS_CHECK(cublasLtMatmulAlgoCapGetAttribute(&algorithm, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS,
                                                 &implementation, sizeof implementation, nullptr));
  choice.algorithm = "cuBLASLt " + std::to_string(configured(CUBLASLT_ALGO_CONFIG_ID));
  std::tie(choice.tile_m, choice.tile_n) = tile_of(configured(CUBLASLT_ALGO_CONFIG_TILE_ID));
  choice.workspace_bytes = static_cast<double>(candidate.workspaceSize);
  choice.split_k = static_cast<unsigned>(std::max(configured(CUBLASLT_ALGO_CONFIG_SPLITK_NUM), 1));
  choice.waves = static_cast<double>(candidate.wavesCount);
  choice.unit = unit_of(implementation);
}

void Gemm::State::multiply(const cublasLtMatmulAlgo_t& with, const DeviceBuffer<char>& space,
                           const void* of_a, const void* of_b, void* to,
                           cudaStream_t stream) const {
  const cudaDataType_t type = types_of(shape.type).scale;
  CUBLAS_CHECK(cublasLtMatmul(library, multiplication, one.of(type), of_b, b, of_a, a,
                              zero.of(type), to, d, to, d, &with, space.data(), space.bytes(),
                              stream));
}

// How many elements share a scale, and in which type it is. The library names no algorithm unless
// it also has an address of scales, though it does not read them then.
void Gemm::State::set_scale_modes() {
  if (has_one_scale()) {
    one_scale = DeviceBuffer<float>(std::span(&one.single, 1));
    set_scales(one_scale.data(), one_scale.data());
  }
  if (!has_scales()) return;
#if GPUBENCH_BLOCK_SCALES
  if (device_attribute(cudaDevAttrComputeCapabilityMajor) < 10) {
    throw GemmUnavailable("block scales need compute capability 10.0");
  }
  const cublasLtMatmulMatrixScale_t mode = shape.type == GemmType::mxfp8
                                               ? CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0
                                               : CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3;
  set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, mode);
  set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, mode);
  constexpr std::size_t aligned_to = 16;  // which an allocation is
  any_scales = DeviceBuffer<char>(aligned_to);
  set_scales(any_scales.data(), any_scales.data());
#else
  lack_block_scales();
#endif
}

Gemm::Gemm(const GemmShape& shape, const GemmBatch& batch) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.shape = shape;
  s.batch = batch;
  if (batch.count == 0 || shape.m == 0 || shape.n == 0 || shape.k == 0) return;
  const Types types = types_of(shape.type);
  CUBLAS_CHECK(cublasLtCreate(s.library.place()));
  CUBLAS_CHECK(cublasLtMatmulDescCreate(s.multiplication.place(), types.compute, types.scale));
  // By columns, D is n by m: B, transposed unless its rows are of n, times A, transposed if its
  // rows are of m.
  const cublasOperation_t transpose_b = shape.b_is_k_by_n ? CUBLAS_OP_N : CUBLAS_OP_T;
  s.set(CUBLASLT_MATMUL_DESC_TRANSA, transpose_b);
  const cublasOperation_t transpose_a = shape.a_is_k_by_m ? CUBLAS_OP_T : CUBLAS_OP_N;
  s.set(CUBLASLT_MATMUL_DESC_TRANSB, transpose_a);
  s.set_scale_modes();
  const auto columns = [](std::size_t ld) { return static_cast<std::int64_t>(ld); };
  const auto [along_a, rows_of_a] =
      shape.a_is_k_by_m ? std::pair{shape.m, shape.k} : std::pair{shape.k, shape.m};
  CUBLAS_CHECK(
      cublasLtMatrixLayoutCreate(s.a.place(), types.a, along_a, rows_of_a, columns(shape.lda)));
  const auto [along, rows] =
      shape.b_is_k_by_n ? std::pair{shape.n, shape.k} : std::pair{shape.k, shape.n};
  CUBLAS_CHECK(cublasLtMatrixLayoutCreate(s.b.place(), types.b, along, rows, columns(shape.ldb)));
  CUBLAS_CHECK(cublasLtMatrixLayoutCreate(s.d.place(),
                                          shape.fp32_result ? CUDA_R_32F : types.result, shape.n,
                                          shape.m, columns(shape.ldd)));
  const auto repeat = [&](cublasLtMatrixLayout_t layout, std::size_t distance) {
    const auto count = static_cast<std::int32_t>(batch.count);
    const auto elements = static_cast<std::int64_t>(distance);
    CUBLAS_CHECK(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                  &count, sizeof count));
    CUBLAS_CHECK(cublasLtMatrixLayoutSetAttribute(
        layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &elements, sizeof elements));
  };
  repeat(s.a, batch.a);
  repeat(s.b, batch.b);
  repeat(s.d, batch.d);
  s.take(s.candidates(1).front());
}

void Gemm::tune(const void* a, const void* b, void* d, unsigned most) {
  State& s = *state_;
  if (s.batch.count == 0 || s.shape.m == 0 || s.shape.n == 0 || s.shape.k == 0) return;
  constexpr float enough_seconds = 2e-3f;  // of runs behind one another, timed together
  const Stream stream;
  const Event begin, end;
  const auto candidates = s.candidates(static_cast<int>(most));
  float best = 0;
  for (unsigned place = 0; place < candidates.size(); ++place) {
    const DeviceBuffer<char> space(candidates[place].workspaceSize);
    const auto seconds_of = [&](int runs) {
      begin.record(stream);
      for (int i = 0; i < runs; ++i) s.multiply(candidates[place].algo, space, a, b, d, stream);
      end.record(stream);
      end.synchronize();
      return static_cast<float>(seconds_between(begin, end)) / static_cast<float>(runs);
    };
    seconds_of(1);  // loads its code
    const int runs = 1 + static_cast<int>(enough_seconds / std::max(seconds_of(1), 1e-6f));
    const float seconds = std::min(seconds_of(runs), seconds_of(runs));
    if (place > 0 && seconds >= best) continue;
    best = seconds;
    s.take(candidates[place]);
    s.choice.place = place;
  }
  s.choice.candidates = static_cast<unsigned>(candidates.size());
}

void Gemm::queue(cudaStream_t stream, const void* a, const void* b, void* d,
                 const GemmScales& scales) const {
  const State& s = *state_;
  if (s.shape.m == 0 || s.shape.n == 0) return;
  if (s.shape.k == 0) {
    const std::size_t bytes = s.shape.result_bytes();
    for (std::size_t i = 0; i < s.batch.count; ++i) {
      CUDA_CHECK(cudaMemset2DAsync(static_cast<char*>(d) + i * s.batch.d * bytes,
                                   s.shape.ldd * bytes, 0, s.shape.n * bytes, s.shape.m, stream));
    }
    return;
  }
  if (s.batch.count == 0) return;
  const auto or_one = [&](const void* scale) {
    return scale == nullptr ? s.one_scale.data() : scale;
  };
  if (s.has_scales() || s.has_one_scale()) s.set_scales(or_one(scales.a), or_one(scales.b));
  s.multiply(s.algorithm, s.workspace, a, b, d, stream);
}

}  // namespace gpubench

#else

namespace gpubench {

struct Gemm::State {
  GemmShape shape;
  GemmChoice choice;
};

Gemm::Gemm(const GemmShape&, const GemmBatch&) { throw GemmUnavailable("built without cuBLASLt"); }
void Gemm::tune(const void*, const void*, void*, unsigned) {}
void Gemm::queue(cudaStream_t, const void*, const void*, void*, const GemmScales&) const {}

}  // namespace gpubench

#endif

namespace gpubench {

Gemm::~Gemm() = default;
Gemm::Gemm(Gemm&&) noexcept = default;
const GemmShape& Gemm::shape() const { return state_->shape; }
const GemmChoice& Gemm::choice() const { return state_->choice; }

}  // namespace gpubench
