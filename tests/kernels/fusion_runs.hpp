#pragma once

#include "kernels/fusion.cuh"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

class FusionRuns : public KernelTest {
 protected:
  // `packs` of each array, with a bias of `bias_packs`.
  template <class T>
  void chain_of(unsigned packs, unsigned bias_packs, double relative) {
    using namespace fusion;
    SCOPED_TRACE(testing::Message() << packs << " packs of " << sizeof(T) << "-byte numbers");
    const std::size_t n = std::size_t{packs} * Pack<T>::size;
    const auto x = input<T>(n), bias = input<T>(std::size_t{bias_packs} * Pack<T>::size);
    const auto between = output<T>(n), out = output<T>(n), fused = output<T>(n);
    const auto run = [&](const T* from, T* to, auto... step) {
      launch(map<T, decltype(step)...>, (packs + threads - 1) / threads, threads, 0, nullptr, from,
             to, packs, step...);
    };
    const AddBias<T> add_bias{bias.data(), bias_packs};
    const Dropout<T> dropout{dropout_seed};
    const Add<T> add{x.data()};
    run(x.data(), between.data(), add_bias);
    run(between.data(), between.data(), Gelu<T>{});
    run(between.data(), between.data(), dropout);
    run(between.data(), out.data(), add);
    run(x.data(), fused.data(), add_bias, Gelu<T>{}, dropout, add);
    using Values = Generator<T>;
    const Values v = values<T>;
    expect_elements(out, ExpectedChain{v, v, v, bias.size(), true}, relative, 2 * relative);
    expect_elements(fused, ExpectedChain{v, v, v, bias.size(), false}, relative, 2 * relative);
  }
};

}  // namespace gpubench
