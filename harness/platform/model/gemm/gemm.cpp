// cuBLASLt on the model device: an operation on the timeline that costs what cost.hpp says. Its
// result, where it is asked for and small enough, is computed by plain loops.
#include "harness/platform/gemm.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "harness/cuda/check.hpp"
#include "harness/platform/model/gemm/cost.hpp"
#include "harness/platform/model/gemm/operands.hpp"
#include "harness/platform/model/gemm/unit_sums.hpp"
#include "harness/platform/model/runtime/runtime.hpp"

namespace gpubench {
namespace {

// Results of more multiplications than this are not computed.
constexpr double most_computed = 1 << 22;

template <class Out>
void store_row(model::DeviceMemory& memory, void* d, std::size_t at,
               const std::vector<double>& sums) {
  std::vector<Out> row;
  for (const double sum : sums) row.push_back(static_cast<Out>(sum));
  memory.write(static_cast<Out*>(d) + at, row.data(), row.size() * sizeof(Out));
}

void store_row_of(const GemmShape& s, model::DeviceMemory& memory, void* d, std::size_t at,
                  const std::vector<double>& sums) {
  if (s.type == GemmType::int8) return store_row<std::int32_t>(memory, d, at, sums);
  if (s.type == GemmType::fp64) return store_row<double>(memory, d, at, sums);
  if (s.result_bytes() == 4) return store_row<float>(memory, d, at, sums);
  if (s.type == GemmType::fp16 || s.type == GemmType::fp16_acc16)
    return store_row<__half>(memory, d, at, sums);
  store_row<__nv_bfloat16>(memory, d, at, sums);
}

void compute(const GemmShape& s, const model::UnitSums& unit, model::DeviceMemory& memory,
             const void* a, const void* b, void* d, const GemmScales& scales) {
  const auto [left, right] = model::operands_of(s, memory, a, b, scales);
  const std::size_t a_step = s.a_is_k_by_m ? s.m : 1, a_row = s.a_is_k_by_m ? 1 : s.k;
  const std::size_t b_step = s.b_is_k_by_n ? s.n : 1, b_column = s.b_is_k_by_n ? 1 : s.k;
  std::vector<double> row(s.n);
  for (std::size_t m = 0; m < s.m; ++m) {
    for (std::size_t n = 0; n < s.n; ++n) {
      row[n] =
          unit.sum({left.data() + m * a_row, a_step}, {right.data() + n * b_column, b_step}, s.k);
    }
    store_row_of(s, memory, d, m * s.ldd, row);
  }
}

// From the first element of each matrix to its last.
std::shared_ptr<model::Touches> touches_of(const GemmShape& s, const GemmBatch& batch,
                                           const model::DeviceMemory& memory, const void* a,
                                           const void* b, const void* d) {
  auto touches = std::make_shared<model::Touches>();
  const std::size_t in = gemm_format(s.type).operand_bits, out = 8 * s.result_bytes();
  const auto add = [&](const void* begin, std::size_t rows, std::size_t columns, std::size_t ld,
                       std::size_t step, std::size_t bits, model::Touch how) {
    if (rows == 0 || columns == 0) return;
    const std::size_t elements = (batch.count - 1) * step + (rows - 1) * ld + columns;
    model::add_touch(*touches, memory, begin, elements * bits / 8, how);
  };
  add(a, s.a_is_k_by_m ? s.k : s.m, s.a_is_k_by_m ? s.m : s.k, s.lda, batch.a, in,
      model::Touch::read);
  add(b, s.b_is_k_by_n ? s.k : s.n, s.b_is_k_by_n ? s.n : s.k, s.ldb, batch.b, in,
      model::Touch::read);
  add(d, s.m, s.n, s.ldd, batch.d, out, model::Touch::write);
  return touches;
}

// What a collective beside it takes from it, and it from the collective.
model::Claim claim_of(const GemmShape& shape, std::size_t batch, const model::GemmCost& cost,
                      const model::Runtime& runtime) {
  // The claim lasts as long as the product, which may outlive the runtime.
  const auto device = std::make_shared<const DeviceSpec>(runtime.device());
  const auto dram = std::ranges::find(cost.terms, "dram", [](const auto& t) { return t.first; });
  return {.devices = {runtime.current_device()},
          .memory = std::min(1.0, dram->second / cost.seconds),
          .wave_seconds = cost.seconds / std::max(1.0, cost.waves),
          .slowdown = [=](double share) {
            const double sms = std::floor(share * (*device)["sm_count"] + 0.5);
            return std::max(
                1.0, model::gemm_seconds_on(sms, cost, shape, *device, batch) / cost.seconds);
          }};
}

}  // namespace

struct Gemm::State {
  GemmShape shape;
  GemmBatch batch;
  GemmChoice choice;
  model::GemmCost cost;
  std::shared_ptr<const model::Claim> claim{};

  bool is_empty() const { return shape.m == 0 || shape.n == 0 || batch.count == 0; }
};

Gemm::Gemm(const GemmShape& shape, const GemmBatch& batch) {
  const DeviceSpec& device = model::current_runtime()->device();
  if (const std::string why = model::why_no_gemm(shape, device); !why.empty()) {
    throw GemmUnavailable(why);
  }
  const model::GemmCost cost = model::gemm_cost(shape, device, batch.count);
  const char* const unit = shape.type == GemmType::int8   ? "imma"
                           : shape.type == GemmType::fp64 ? "dmma"
                           : shape.type == GemmType::fp32 ? "fma"
                                                          : "hmma";
  const auto parts = static_cast<unsigned>(cost.parts);
  const double workspace =
      parts > 1 ? cost.parts * batch.count * shape.m * shape.n * sizeof(float) : 0;
  const GemmChoice choice{"model", cost.tile_m, cost.tile_n, workspace, unit, cost.waves, parts};
  state_ = std::make_unique<State>(State{shape, batch, choice, cost});
  if (state_->is_empty()) return;
  state_->claim =
      std::make_shared<model::Claim>(claim_of(shape, batch.count, cost, *model::current_runtime()));
}
Gemm::~Gemm() = default;
Gemm::Gemm(Gemm&&) noexcept = default;
void Gemm::tune(const void*, const void*, void*, unsigned) {}
const GemmShape& Gemm::shape() const { return state_->shape; }
const GemmChoice& Gemm::choice() const { return state_->choice; }

void Gemm::queue(cudaStream_t s, const void* a, const void* b, void* d,
                 const GemmScales& scales) const {
  const GemmShape& shape = state_->shape;
  const GemmBatch& batch = state_->batch;
  if (state_->is_empty()) return;
  model::Runtime& runtime = *model::current_runtime();
  const std::string name = std::string("GEMM ") + gemm_type_name(shape.type);
  model::Work work{.name = name};
  work.claim = state_->claim;
  work.touches = touches_of(shape, batch, runtime.memory(), a, b, d);
  work.carry_out = [=, cost = state_->cost, &runtime] {
    const double multiplications = shape.flops() / 2 * static_cast<double>(batch.count);
    const bool computed = multiplications <= most_computed && runtime.expects_results();
    const auto in = [&](std::size_t elements) { return gemm_operand_bytes(shape.type, elements); };
    const model::UnitSums unit(shape.type, runtime.device().compute_capability());
    for (std::size_t i = 0; computed && i < batch.count; ++i) {
      compute(shape, unit, runtime.memory(), static_cast<const char*>(a) + in(i * batch.a),
              static_cast<const char*>(b) + in(i * batch.b),
              static_cast<char*>(d) + i * batch.d * shape.result_bytes(), scales);
    }
    runtime.note_operation({name, cost.bound, cost.terms, cost.seconds, computed, cost.roof});
    return cost.seconds;
  };
  CUDA_CHECK(
      runtime.call("cublasLtMatmul", [&] { return runtime.queue_operation(std::move(work), s); }));
}

}  // namespace gpubench
