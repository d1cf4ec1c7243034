// cuBLASLt on the model device: an operation on the timeline that costs what cost.hpp says. Its
// result, where it is asked for and small enough, is computed by plain loops.
#include "harness/platform/gemm.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "harness/cuda/check.hpp"
#include "harness/platform/model/gemm/cost.hpp"
#include "harness/platform/model/runtime/runtime.hpp"

namespace gpubench {
namespace {

// Results of more multiplications than this are not computed.
constexpr double most_computed = 1 << 22;

template <class T>
std::vector<double> values_of(const model::DeviceMemory& memory, const void* from, std::size_t rows,
                              std::size_t columns, std::size_t ld) {
  std::vector<double> values;
  std::vector<T> row(columns);
  for (std::size_t r = 0; r < rows; ++r) {
    if (columns == 0) break;
    memory.read(row.data(), static_cast<const T*>(from) + r * ld, columns * sizeof(T));
    for (const T& element : row) values.push_back(static_cast<double>(element));
  }
  return values;
}

// Products and sums in double, rounded once. TF32 ignores the lowest bits of its operands, which
// those of the suite's inputs do not use.
template <class In, class Out>
void compute(const GemmShape& s, model::DeviceMemory& memory, const void* a, const void* b,
             void* d) {
  const std::vector<double> left = s.a_is_k_by_m ? values_of<In>(memory, a, s.k, s.m, s.lda)
                                                 : values_of<In>(memory, a, s.m, s.k, s.lda);
  const std::vector<double> right = s.b_is_k_by_n ? values_of<In>(memory, b, s.k, s.n, s.ldb)
                                                  : values_of<In>(memory, b, s.n, s.k, s.ldb);
  const std::size_t a_step = s.a_is_k_by_m ? s.m : 1, a_row = s.a_is_k_by_m ? 1 : s.k;
  const std::size_t b_step = s.b_is_k_by_n ? s.n : 1, b_column = s.b_is_k_by_n ? 1 : s.k;
  std::vector<Out> row(s.n);
  for (std::size_t m = 0; m < s.m; ++m) {
    for (std::size_t n = 0; n < s.n; ++n) {
      double sum = 0;
      for (std::size_t k = 0; k < s.k; ++k)
        sum += left[m * a_row + k * a_step] * right[n * b_column + k * b_step];
      row[n] = static_cast<Out>(sum);
    }
    memory.write(static_cast<Out*>(d) + m * s.ldd, row.data(), s.n * sizeof(Out));
  }
}

void compute_any(const GemmShape& s, model::DeviceMemory& memory, const void* a, const void* b,
                 void* d) {
  switch (s.type) {
    case GemmType::bf16:
      return compute<__nv_bfloat16, __nv_bfloat16>(s, memory, a, b, d);
    case GemmType::fp16:
      return compute<__half, __half>(s, memory, a, b, d);
    case GemmType::tf32:
    case GemmType::fp32:
      return compute<float, float>(s, memory, a, b, d);
    case GemmType::fp8:
      return compute<__nv_fp8_e4m3, __nv_bfloat16>(s, memory, a, b, d);
    case GemmType::int8:
      return compute<std::int8_t, std::int32_t>(s, memory, a, b, d);
  }
}

// From the first element of each matrix to its last.
std::shared_ptr<model::Touches> touches_of(const GemmShape& s, const GemmBatch& batch,
                                           const model::DeviceMemory& memory, const void* a,
                                           const void* b, const void* d) {
  auto touches = std::make_shared<model::Touches>();
  const std::size_t in = gemm_operand_bytes(s.type), out = gemm_result_bytes(s.type);
  const auto add = [&](const void* begin, std::size_t rows, std::size_t columns, std::size_t ld,
                       std::size_t step, std::size_t element, model::Touch how) {
    if (rows == 0 || columns == 0) return;
    const std::size_t elements = (batch.count - 1) * step + (rows - 1) * ld + columns;
    model::add_touch(*touches, memory, begin, elements * element, how);
  };
  add(a, s.a_is_k_by_m ? s.k : s.m, s.a_is_k_by_m ? s.m : s.k, s.lda, batch.a, in,
      model::Touch::read);
  add(b, s.b_is_k_by_n ? s.k : s.n, s.b_is_k_by_n ? s.n : s.k, s.ldb, batch.b, in,
      model::Touch::read);
  add(d, s.m, s.n, s.ldd, batch.d, out, model::Touch::write);
  return touches;
}

}  // namespace

struct Gemm::State {
  GemmShape shape;
  GemmBatch batch;
  GemmChoice choice;
  model::GemmCost cost;
};

Gemm::Gemm(const GemmShape& shape, const GemmBatch& batch) {
  const DeviceSpec& device = model::current_runtime()->device();
  if (const std::string why = model::why_no_gemm(shape, device); !why.empty()) {
    throw GemmUnavailable(why);
  }
  const model::GemmCost cost = model::gemm_cost(shape, device, batch.count);
  const char* const unit = shape.type == GemmType::int8   ? "imma"
                           : shape.type == GemmType::fp32 ? "fma"
                                                          : "hmma";
  const GemmChoice choice{"model", cost.tile_m, cost.tile_n, 0, unit, cost.waves};
  state_ = std::make_unique<State>(State{shape, batch, choice, cost});
}
Gemm::~Gemm() = default;
Gemm::Gemm(Gemm&&) noexcept = default;
void Gemm::tune(const void*, const void*, void*, unsigned) {}
const GemmShape& Gemm::shape() const { return state_->shape; }
const GemmChoice& Gemm::choice() const { return state_->choice; }

void Gemm::queue(cudaStream_t s, const void* a, const void* b, void* d) const {
  const GemmShape& shape = state_->shape;
  const GemmBatch& batch = state_->batch;
  if (shape.m == 0 || shape.n == 0 || batch.count == 0) return;
  model::Runtime& runtime = *model::current_runtime();
  const std::string name = std::string("GEMM ") + gemm_type_name(shape.type);
  model::Work work{.name = name};
  work.touches = touches_of(shape, batch, runtime.memory(), a, b, d);
  work.carry_out = [=, cost = state_->cost, &runtime] {
    const double multiplications = shape.flops() / 2 * static_cast<double>(batch.count);
    const bool computed = multiplications <= most_computed && runtime.expects_results();
    const std::size_t in = gemm_operand_bytes(shape.type), out = gemm_result_bytes(shape.type);
    for (std::size_t i = 0; computed && i < batch.count; ++i) {
      compute_any(shape, runtime.memory(), static_cast<const char*>(a) + i * batch.a * in,
                  static_cast<const char*>(b) + i * batch.b * in,
                  static_cast<char*>(d) + i * batch.d * out);
    }
    runtime.note_operation(
        {name, cost.bound, cost.terms, cost.seconds, computed, gemm_roof(shape.type)});
    return cost.seconds;
  };
  CUDA_CHECK(
      runtime.call("cublasLtMatmul", [&] { return runtime.queue_operation(std::move(work), s); }));
}

}  // namespace gpubench
