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

}  // namespace
}  // namespace gpubench
