// Kernels with random control flow, as compilers made them, against what their trees say.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <sstream>

#include "harness/cuda/launch.hpp"
#include "harness/platform/model/ptx/engine.hpp"
#include "tests/model/emulator_fixture.hpp"
#include "tests/model/flow/arithmetic.hpp"
#include "tests/model/flow/kernels.hpp"
#include "tests/model/flow/oracle.hpp"

namespace gpubench::model {
namespace {

// "global load: requests 4 for 3" where they differ.
std::string differences(const Counts& got, const Counts& expected) {
  std::ostringstream text;
  const auto compare = [&](const std::string& name, double a, double b) {
    if (a != b) text << "; " << name << ' ' << a << " for " << b;
  };
  static constexpr const char* spaces[] = {"global", "shared"};
  static constexpr const char* kinds[] = {"load", "store", "atomic"};
  for (std::size_t space = 0; space < 2; ++space) {
    for (std::size_t kind = 0; kind < 3; ++kind) {
      const AccessCounts &a = got.access[space][kind], &b = expected.access[space][kind];
      const std::string name = std::string(spaces[space]) + ' ' + kinds[kind] + ' ';
      compare(name + "requests", a.requests, b.requests);
      compare(name + "lanes", a.lanes, b.lanes);
      compare(name + "bytes", a.bytes, b.bytes);
      if (space == 0) compare(name + "sectors", a.sectors, b.sectors);
      if (space == 1) compare(name + "wavefronts", a.wavefronts, b.wavefronts);
    }
  }
  compare("barriers", got.barriers, expected.barriers);
  return text.str();
}

class FlowTest : public EmulatorTest {
 protected:
  // The programs among those `meant` that come to something else than their trees say, and
  // what.
  template <class Meant>
  std::string wrong(Meant&& meant) {
    std::vector<unsigned> input(flow::input_words);
    for (unsigned i = 0; i < input.size(); ++i) input[i] = flow::mixed(i, 7);
    const unsigned* in = upload(input);
    std::string text;
    for (const flow::Compiled& one : flow::compiled()) {
      const flow::Program program = flow::make_program(one.seed);
      if (!meant(program)) continue;
      unsigned* out = upload(std::vector<unsigned>(flow::output_words));
      unsigned* bin = upload(std::vector<unsigned>(flow::bins));
      const flow::Outcome expected = flow::expected(program, input);
      const Counts got = counts_of([&] {
        gpubench::launch(one.kernel, 1, flow::threads, 0, nullptr, out, in, bin, flow::given);
      });
      std::string differs = differences(got, expected.counts);
      if (download(out, flow::output_words) != expected.out) differs += "; results";
      if (download(bin, flow::bins) != expected.bin) differs += "; atomics";
      if (!differs.empty()) text += "program " + std::to_string(one.seed) + differs + '\n';
      CUDA_CHECK(cudaFree(out));
      CUDA_CHECK(cudaFree(bin));
    }
    return text;
  }
};

TEST_F(FlowTest, RandomControlFlowCountsAsItsTreeSays) {
  EXPECT_GE(flow::compiled().size(), 30u);
  EXPECT_EQ(wrong([](const flow::Program&) { return true; }), "");
}

#ifdef FLOW_PTX
// The engine knows PTX's branches and their post-dominators. What only ptxas decides, where lanes
// meet earlier and which tails are merged, was read in its code
// (harness/platform/model/emulator/README.md).
TEST_F(FlowTest, NvccsCodeOfThemCountsTheSame) {
  ptx::Library library;
  library.add_from(FLOW_PTX);
  emulator.use_engine(ptx::make_engine(library, spec.compute_capability(), {}));
  unsigned programs = 0;
  EXPECT_EQ(wrong([&](const flow::Program& program) {
              const bool meant =
                  program.seed < FLOW_PTX_PROGRAMS && !program.meets_early && !program.returns;
              programs += meant;
              return meant;
            }),
            "");
  EXPECT_GT(programs, FLOW_PTX_PROGRAMS / 8u);
}
#endif

}  // namespace
}  // namespace gpubench::model
