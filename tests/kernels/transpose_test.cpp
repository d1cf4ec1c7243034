#include "tests/kernels/transpose_runs.hpp"

#include <cstdint>

namespace gpubench {
namespace {

class Transpose : public TransposeRuns {};

TEST_F(Transpose, AnyShapeIsTransposedWithoutATile) {
  for (const unsigned rows : ragged_sizes) {
    for (const unsigned columns : {1u, 33u, 128u}) {
      transpose_of<float, true>(rows, columns);
      transpose_of<float, false>(rows, columns);
      transpose_of<std::int16_t, true>(rows, columns);
    }
  }
}

TEST_F(Transpose, ALineOfSeveralBlocksHasAnEnd) {
  transpose_of<float, true>(transpose::words_a_block + 1, 2);
  transpose_of<float, false>(2, transpose::words_a_block + 1);
}

}  // namespace
}  // namespace gpubench
