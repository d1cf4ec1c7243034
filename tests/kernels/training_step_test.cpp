#include "tests/kernels/training_step_runs.hpp"

#include <algorithm>
#include <iterator>

#include "tests/kernels/training_step_losses.hpp"

namespace gpubench {
namespace {

using namespace training_step;

class TrainingStepKernels : public TrainingStepRuns {};

// In each tensor of weights some, at places that have nothing to do with each other.
TEST_F(TrainingStepKernels, GradientsAreTheSlopesOfTheLoss) {
  Exact step(shape, {}, {});
  const std::vector<double> gradients = gradients_of(step);
  const Places places{shape};
  std::vector<std::size_t> tensors{places.output(), places.embedding()};
  for (unsigned l = 0; l < shape.layers; ++l) {
    for (const std::size_t place :
         {places.mlp_out(l), places.mlp_in(l), places.projection(l), places.qkv(l)}) {
      tensors.push_back(place);
    }
  }
  // A row of the embedding's table that some token names.
  tensors[1] += tokens_.download()[5] * std::size_t{shape.hidden};
  constexpr double h = 1e-5;
  double* const weights = step.weights().master.data();
  for (const std::size_t tensor : tensors) {
    const std::size_t at = tensor + 7;
    double weight = 0, slope = 0;
    CUDA_CHECK(cudaMemcpy(&weight, weights + at, sizeof weight, cudaMemcpyDeviceToHost));
    const auto set = [&](double to) {
      CUDA_CHECK(cudaMemcpy(weights + at, &to, sizeof to, cudaMemcpyHostToDevice));
    };
    for (const double side : {1.0, -1.0}) {
      set(weight + side * h);
      slope += side * loss_of(step) / (2 * h);
    }
    set(weight);
    EXPECT_NE(gradients[at], 0) << at;
    EXPECT_NEAR(gradients[at], slope, 1e-4 * std::abs(slope) + 1e-9) << at;
  }
}

TEST_F(TrainingStepKernels, SwitchesChangeNoGradient) {
  Exact plain(shape, {}, {});
  const std::vector<double> want = gradients_of(plain);
  for (const Switches& switches :
       {Switches{.fused = true}, Switches{.checkpointing = true},
        Switches{.fused = true, .fused_adamw = true, .checkpointing = true}}) {
    Exact step(shape, switches, {});
    const std::vector<double> got = gradients_of(step);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(got[i], want[i], 1e-12 + 1e-9 * std::abs(want[i])) << i;
    }
  }
}

TEST_F(TrainingStepKernels, PartsOfABatchAddUpToTheWhole) {
  Shape both = shape;
  both.batch = 2;
  Exact whole(both, {}, {}), parts(shape, {.parts = 2}, {});
  gradients_of(whole);
  gradients_of(parts);
  const std::vector<double> mean = whole.weights().gradient.download(),
                            sum = parts.weights().sum.download();
  for (std::size_t i = 0; i < mean.size(); ++i) {
    ASSERT_NEAR(sum[i] / 2, mean[i], 1e-12 + 1e-9 * std::abs(mean[i])) << i;
  }
}

TEST_F(TrainingStepKernels, ClippedGradientsAreAsLongAsTheLimitAndShorterOnesStay) {
  for (const bool parts : {false, true}) {
    for (const double limit : {0.25, 1e3}) {
      Exact step(shape, {.parts = parts ? 2u : 1u, .clip_at = limit}, {});
      const auto all = [&] {
        const auto& weights = step.weights();
        std::vector<double> found = (parts ? weights.sum : weights.gradient).download();
        for (const double one : weights.table_gradient.download()) found.push_back(one);
        return found;
      };
      loss_of(step);
      const std::vector<double> before = all();
      step.clip_gradients();
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
      const std::vector<double> after = all();
      const double share = parts ? 0.5 : 1, length = share * length_of(before);
      EXPECT_GT(length, 0.5);
      for (std::size_t i = 0; i < before.size(); ++i) {
        ASSERT_NEAR(after[i], before[i] * std::min(1.0, limit / length), 1e-15) << i;
      }
    }
  }
}

// GPUs with a shard of the states each step the weights as one with all of them does.
TEST_F(TrainingStepKernels, ShardsStepTheWeightsThatAreTheirs) {
  constexpr unsigned shards = 4;
  Exact whole(shape, {}, {});
  loss_of(whole);
  whole.update();
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
  const std::vector<double> before = Exact(shape, {}, {}).weights().master.download(),
                            want = whole.weights().master.download();
  std::vector<double> got = before;
  for (unsigned shard = 0; shard < shards; ++shard) {
    Exact step(shape, {.shards = shards, .shard = shard}, {});
    EXPECT_EQ(step.weights().state_bytes() * shards, whole.weights().state_bytes());
    loss_of(step);
    step.update();
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    const std::vector<double> mine = step.weights().master.download();
    std::size_t stepped = 0;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      if (mine[i] == before[i]) continue;
      EXPECT_EQ(got[i], before[i]) << "two shards have " << i;
      got[i] = mine[i];
      ++stepped;
    }
    EXPECT_EQ(stepped, mine.size() / shards);
  }
  EXPECT_EQ(got, want);
}

TEST_F(TrainingStepKernels, TensorsInFp8AreScaledByTheirLargestAndTransposed) {
  for (const auto& [rows, columns] : {std::pair{8u, 8u}, {24u, 136u}, {64u, 64u}, {200u, 72u}}) {
    SCOPED_TRACE(testing::Message() << rows << " x " << columns);
    const std::size_t n = std::size_t{rows} * columns;
    const auto in = input<__nv_bfloat16>(n);
    const auto out = output<fp8>(n), transposed = output<fp8>(n);
    const auto scale = output<float>(1), maxima = output<float>(2);
    launch(find_largest<__nv_bfloat16>, 2, threads, 0, nullptr, in.data(),
           n / Pack<__nv_bfloat16>::size, maxima.data());
    const dim3 tiles((columns + fp8_tile - 1) / fp8_tile, (rows + fp8_tile - 1) / fp8_tile);
    launch(to_fp8<__nv_bfloat16>, tiles, threads, 0, nullptr, in.data(), rows, columns,
           maxima.data(), 2, out.data(), transposed.data(), scale.data());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    float largest = 0;
    const auto numbers = in.download();
    for (const auto& one : numbers) largest = std::max(largest, std::abs(static_cast<float>(one)));
    const float unscale = scale.download().front();
    EXPECT_EQ(unscale, largest / largest_fp8);
    const auto got = out.download(), got_transposed = transposed.download();
    for (std::size_t i = 0; i < n; ++i) {
      const fp8 want(static_cast<float>(numbers[i]) * (1 / unscale));
      ASSERT_EQ(got[i].__x, want.__x) << i;
      ASSERT_EQ(got_transposed[i % columns * rows + i / columns].__x, want.__x) << i;
    }
  }
}

TEST_F(TrainingStepKernels, ATensorOfZerosHasAScaleInFp8) {
  DeviceBuffer<__nv_bfloat16> in(64);
  in.set(0);
  const auto out = output<fp8>(64), transposed = output<fp8>(64);
  const auto scale = output<float>(1), maxima = output<float>(1);
  launch(find_largest<__nv_bfloat16>, 1, threads, 0, nullptr, in.data(), 8, maxima.data());
  launch(to_fp8<__nv_bfloat16>, 1, threads, 0, nullptr, in.data(), 8, 8, maxima.data(), 1,
         out.data(), transposed.data(), scale.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
  EXPECT_EQ(scale.download().front(), 1);
  for (const auto& one : out.download()) EXPECT_EQ(static_cast<float>(one), 0);
}

TEST_F(TrainingStepKernels, TenStepsHaveNumpysLosses) {
  namespace numpy = training_step_losses;
  ASSERT_EQ(shape.seq * shape.batch, numpy::seq);
  ASSERT_EQ(shape.hidden, numpy::hidden);
  ASSERT_EQ(shape.heads, numpy::heads);
  ASSERT_EQ(shape.layers, numpy::layers);
  ASSERT_EQ(shape.vocabulary, numpy::vocabulary);
  for (const bool fused : {false, true}) {
    Exact step(shape, {.fused = fused, .fused_adamw = fused}, {});
    for (std::size_t i = 0; i < std::size(numpy::of_steps); ++i) {
      ASSERT_NEAR(loss_of(step), numpy::of_steps[i], 1e-9) << i;
      step.update();
    }
  }
}

TEST(TrainingStepShape, CountsTheFlopsOfTheModel) {
  // GPT-3, of Brown et al., table D.1: 3.14e23 FLOPs for 300e9 tokens, without attention's.
  const Shape gpt3{1, 2048, 12288, 96, 96, 50257};
  const double attention = 12.0 * gpt3.layers * gpt3.hidden * gpt3.seq;
  const double per_token = gpt3.flops() / static_cast<double>(gpt3.tokens()) - attention;
  EXPECT_NEAR(per_token * 300e9, 3.14e23, 0.02 * 3.14e23);
}

TEST(TrainingStepCosts, AddUp) {
  const std::vector<Cost> costs{{8, 2}, {0, 3}, {2, 12}};
  const auto rate = [](const Cost&) { return 2.0; };
  EXPECT_DOUBLE_EQ(seconds_of(costs, rate, 3, 0.25), (0.25 + 4) + (0.25 + 1) + (0.25 + 4));
}

}  // namespace
}  // namespace gpubench
