#include "tests/kernels/registers_runs.hpp"

namespace gpubench {
namespace {

class RegistersKernels : public RegistersRuns {};

TEST_F(RegistersKernels, TilesOfAnyNumberOfThreads) {
  for (const unsigned n : ragged_sizes) tiles_of<1, 1>(n);
  for (const unsigned n : {1u, 65u, 509u}) {
    tiles_of<2, 1>(n);
    tiles_of<8, 16>(n);
  }
  tiles_of<16, 16>(65);
}

}  // namespace
}  // namespace gpubench
