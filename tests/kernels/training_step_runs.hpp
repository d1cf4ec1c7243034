#pragma once

#include <cmath>
#include <vector>

#include "harness/bench/training/host_products.hpp"
#include "harness/bench/training/row.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

class TrainingStepRuns : public KernelTest {
 protected:
  using Exact = training_step::Step<double, training_step::HostProducts<double>>;
  static constexpr training_step::Shape shape{1, 16, 32, 2, 2, 40};

  TrainingStepRuns() : tokens_(2 * shape.tokens()), targets_(tokens_.size()) {
    fill_random(tokens_.data(), tokens_.size(), training_step::RandomToken{shape.vocabulary, 2});
    fill_random(targets_.data(), targets_.size(), training_step::RandomToken{shape.vocabulary, 3});
  }

  double loss_of(Exact& step) {
    step.gradients(nullptr, tokens_.data(), targets_.data(), training_step::What::all);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    return step.activations().loss.download().front();
  }
  // First the products' weights, then the embedding's table.
  std::vector<double> gradients_of(Exact& step) {
    loss_of(step);
    std::vector<double> all = step.weights().gradient.download();
    for (const double one : step.weights().table_gradient.download()) all.push_back(one);
    return all;
  }

  DeviceBuffer<unsigned> tokens_, targets_;
};

}  // namespace gpubench
