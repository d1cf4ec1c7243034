#pragma once

#include <span>
#include <vector>

#include "kernels/data_pipeline.cuh"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

class DataPipelineRuns : public KernelTest {
 protected:
  static constexpr unsigned rounds = 5;

  // `blocks` blocks of an item whose number i is of(i).
  template <class Item, class Of>
  void consumed(unsigned blocks, const Of& of) {
    std::vector<Item> item;
    for (std::size_t i = 0; i < std::size_t{blocks} * paced_work::threads; ++i) {
      item.push_back(of(i));
    }
    const DeviceBuffer<Item> in{std::span<const Item>(item)};
    const auto out = output<float>(item.size());
    launch(data_pipeline::consume<Item>, blocks, paced_work::threads, 0, nullptr, in.data(),
           out.data(), rounds);
    expect_elements(out, data_pipeline::Expected{rounds});
  }
};

}  // namespace gpubench
