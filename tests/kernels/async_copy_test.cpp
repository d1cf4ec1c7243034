#include "tests/kernels/async_copy_runs.hpp"

namespace gpubench {
namespace {

using namespace async_copy;

class AsyncCopyKernels : public AsyncCopyRuns {};

TEST_F(AsyncCopyKernels, EveryWayOfCopyingBringsTheSame) {
  sums_by(plain<1>, 1, 1);
  sums_by(plain<8>, 8, 1);
  for (const unsigned vectors : {1u, 8u}) {
    sums_by(cp_async<2>, vectors, 2, vectors);
    sums_by(cp_async<3>, vectors, 3, vectors);
    sums_by(cp_async<4>, vectors, 4, vectors);
  }
}

TEST_F(AsyncCopyKernels, BulkCopiesBringTheSame) {
  if (const std::string why = too_old_for({9, 0}); !why.empty()) GTEST_SKIP() << why;
  for (unsigned stages = 2; stages <= most_stages; stages += 3) {
    sums_by(bulk, 8, stages, 8u, stages);
  }
}

}  // namespace
}  // namespace gpubench
