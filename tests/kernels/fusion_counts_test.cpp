#include <utility>

#include "tests/kernels/fusion_runs.hpp"

namespace gpubench {
namespace {

class FusionCounts : public FusionRuns {};

TEST_F(FusionCounts, TheChainMovesThreeTimesTheBytes) {
  const auto bytes_of_chain = [&] {
    emulator.forget_runs();
    chain_of<float>(1024, 1, 1e-6);
    double chain = 0;
    for (const auto& run : emulator.runs()) {
      const auto& counts = run.profile.counts;
      const double bytes = counts.at(model::Space::global, model::Access::load).bytes +
                           counts.at(model::Space::global, model::Access::store).bytes;
      chain += bytes;
      if (&run == &emulator.runs().back()) return std::pair(chain - bytes, bytes);
    }
    return std::pair(0.0, 0.0);
  };
  const auto [chain, fused] = bytes_of_chain();
  constexpr double size = 1024 * 16;
  EXPECT_EQ(chain, (9 + 1) * size);  // every pack loads its bias too, which the caches serve
  EXPECT_EQ(fused, (3 + 1) * size);
}

}  // namespace
}  // namespace gpubench
