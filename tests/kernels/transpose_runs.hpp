#pragma once

#include "kernels/transpose.cuh"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

class TransposeRuns : public KernelTest {
 protected:
  template <class Word, bool reads_column>
  void transpose_of(unsigned rows, unsigned columns) {
    SCOPED_TRACE(testing::Message() << rows << " rows of " << columns);
    const auto in = input<Word>(std::size_t{rows} * columns);
    const auto out = output<Word>(in.size());
    launch(transpose::untiled<Word, reads_column>,
           transpose::untiled_grid(reads_column, rows, columns), transpose::threads, 0, nullptr,
           in.data(), out.data(), rows, columns);
    expect_elements(out, ExpectedTransposed{values<Word>, rows, columns});
  }
};

}  // namespace gpubench
