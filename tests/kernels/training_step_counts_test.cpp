#include "tests/kernels/training_step_runs.hpp"

namespace gpubench {
namespace {

using namespace training_step;

class TrainingStepCounts : public TrainingStepRuns {
 protected:
  static constexpr std::size_t n = 1021;

  std::uint64_t loads() const {
    return counts().at(model::Space::global, model::Access::load).lanes;
  }
};

TEST_F(TrainingStepCounts, AFusedAdamWReadsEachNumberOnce) {
  const auto gradient = input<float>(n), m = input<float>(n), weight = input<float>(n);
  const auto copy = output<__nv_bfloat16>(n);
  DeviceBuffer<float> v(n);
  v.set(0);
  DeviceBuffer<Powers<float>> powers(1);
  fill_random(powers.data(), 1, NoPower<float>{});
  launch(adamw_begin<float>, 1, 1, 0, nullptr, powers.data());
  const Update<float, float> update{
      gradient.data(), weight.data(), m.data(), v.data(), powers.data(), 1, n};
  const unsigned blocks = (n + threads - 1) / threads;
  launch(adamw<__nv_bfloat16, float, float>, blocks, threads, 0, nullptr, update, copy.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
  // Gradient, moments and weight, and the two powers, which all threads share.
  EXPECT_EQ(loads(), (4 + 2) * n);
  EXPECT_EQ(counts().at(model::Space::global, model::Access::store).lanes, 4 * n);
}

// A warp stores whole sectors by rows and by columns, and finds its columns in different banks.
TEST_F(TrainingStepCounts, ConversionsToFp8StoreWholeSectors) {
  constexpr unsigned rows = 128, columns = 192, elements = rows * columns;
  const auto in = input<__nv_bfloat16>(elements);
  const auto out = output<fp8>(elements), transposed = output<fp8>(elements);
  const auto maxima = input<float>(1), scale = output<float>(1);
  launch(to_fp8<__nv_bfloat16>, dim3(columns / fp8_tile, rows / fp8_tile), threads, 0, nullptr,
         in.data(), rows, columns, maxima.data(), 1, out.data(), transposed.data(), scale.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
  const auto& stores = counts().at(model::Space::global, model::Access::store);
  EXPECT_EQ(stores.sectors, 2 * elements / 32 + 1);
  const auto& reads = counts().at(model::Space::shared, model::Access::load);
  EXPECT_EQ(reads.wavefronts, reads.requests);
}

}  // namespace
}  // namespace gpubench
