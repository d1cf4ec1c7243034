#include "tests/kernels/atomics_runs.hpp"

namespace gpubench {
namespace {

class Atomics : public AtomicsRuns {};

TEST_F(Atomics, EveryKeyIsCountedOnce) {
  for (const unsigned n : ragged_sizes) {
    for (const unsigned bins : {1u, 2u, 64u, 512u, atomics::most_bins}) {
      count<false>(n, bins, 3);
      count<true>(n, bins, 3);
    }
  }
}

}  // namespace
}  // namespace gpubench
