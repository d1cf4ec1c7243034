#pragma once

#include "kernels/transfer.cuh"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

class TransferRuns : public KernelTest {
 protected:
  void copy_of(std::size_t n) {
    using transfer::word;
    SCOPED_TRACE(n);
    const auto from = input<word>(n);
    const auto to = output<word>(n);
    launch(copy_words::copy, copy_words::blocks(n), copy_words::threads, 0, nullptr, from.data(),
           to.data(), n);
    expect_elements(to, values<word>);
  }
};

}  // namespace gpubench
