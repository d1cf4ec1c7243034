#include "kernels/bank_conflicts.cuh"

#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

using namespace bank_conflicts;
using model::Space;

class BankConflicts : public KernelTest {
 protected:
  template <class Vector>
  void read_in(Pattern pattern) {
    SCOPED_TRACE(testing::Message() << sizeof(Vector) << " bytes, stride " << pattern.stride
                                    << ", shared by " << pattern.sharing);
    constexpr unsigned words = sizeof(Vector) / sizeof(float);
    const auto in = input<float>(tile_elements * words);
    const auto out = output<float>(threads);
    launch(read<Vector>, 1, threads, 0, nullptr, reinterpret_cast<const Vector*>(in.data()),
           out.data(), pattern);
    expect_elements(out, ExpectedRead<Generator<float>>{values<float>, words, pattern});
    const auto& loads = counts().at(Space::shared, model::Access::load);
    EXPECT_EQ(loads.wavefronts / loads.requests,
              wavefronts(sizeof(Vector), pattern.stride, warp / pattern.sharing));
  }

  template <class Layout, bool turned>
  void transpose_of(unsigned rows, unsigned columns) {
    SCOPED_TRACE(testing::Message() << rows << " rows of " << columns);
    const auto in = input<float>(std::size_t{rows} * columns);
    const auto out = output<float>(std::size_t{rows} * columns);
    const dim3 grid((columns + side - 1) / side, (rows + side - 1) / side);
    launch(transpose<Layout, turned>, grid, dim3(side, rows_at_once), 0, nullptr, in.data(),
           out.data(), rows, columns);
    if constexpr (turned) {
      expect_elements(out, ExpectedTransposed<Generator<float>>{values<float>, rows, columns});
    } else {
      expect_elements(out, values<float>);
    }
  }

  template <class Order>
  void sums_of(std::size_t n) {
    SCOPED_TRACE(n);
    const auto in = input<float>(n);
    const auto out = output<float>((n + threads - 1) / threads);
    const auto blocks = (out.size() + sums_a_block - 1) / sums_a_block;
    launch(reduce<Order>, static_cast<unsigned>(blocks), threads, 0, nullptr, in.data(), out.data(),
           n);
    expect_elements(out, ExpectedSum<Generator<float>>{values<float>, n});
  }
};

TEST_F(BankConflicts, EveryPatternReadsWhatItShouldAndQueuesAsTheLawSays) {
  for (unsigned stride = 0; stride <= 33; ++stride) {
    read_in<float>({stride, 1});
    read_in<float2>({stride, 1});
    read_in<float4>({stride, 1});
  }
  for (unsigned sharing = 1; sharing <= warp; sharing *= 2) {
    for (const unsigned stride : {0, 1, 2, 5, 16, 32}) read_in<float>({stride, sharing});
  }
}

TEST_F(BankConflicts, TransposesOfAnyShape) {
  for (const unsigned rows : ragged_sizes) {
    for (const unsigned columns : {1u, 33u, 127u, 128u, 509u}) {
      transpose_of<Plain, false>(rows, columns);
      transpose_of<Plain, true>(rows, columns);
      transpose_of<Padded, true>(rows, columns);
      transpose_of<Swizzled, true>(rows, columns);
    }
  }
}

TEST_F(BankConflicts, OnlyThePlainTransposeQueues) {
  const auto wavefronts_a_load = [&](auto run) {
    run();
    const auto& loads = counts().at(Space::shared, model::Access::load);
    return loads.wavefronts / loads.requests;
  };
  EXPECT_EQ(wavefronts_a_load([&] { transpose_of<Plain, false>(64, 96); }), 1);
  EXPECT_EQ(wavefronts_a_load([&] { transpose_of<Plain, true>(64, 96); }), 32);
  EXPECT_EQ(wavefronts_a_load([&] { transpose_of<Padded, true>(64, 96); }), 1);
  EXPECT_EQ(wavefronts_a_load([&] { transpose_of<Swizzled, true>(64, 96); }), 1);
}

TEST_F(BankConflicts, SumsOfAnyNumberOfWords) {
  for (const unsigned n : ragged_sizes) {
    sums_of<Interleaved>(n);
    sums_of<Sequential>(n);
  }
}

template <class Order>
void expect_cost(const model::Counts& counts) {
  const auto& loads = counts.at(Space::shared, model::Access::load);
  const auto& stores = counts.at(Space::shared, model::Access::store);
  const Cost cost = cost_of_a_sum<Order>();
  EXPECT_EQ(loads.requests, sums_a_block * cost.loads);
  EXPECT_EQ(loads.wavefronts, sums_a_block * cost.load_wavefronts);
  EXPECT_EQ(loads.wavefronts + stores.wavefronts, sums_a_block * cost.wavefronts);
}

TEST_F(BankConflicts, ASumCostsWhatTheLawCounts) {
  sums_of<Interleaved>(sums_a_block * threads);
  expect_cost<Interleaved>(counts());
  sums_of<Sequential>(sums_a_block * threads);
  expect_cost<Sequential>(counts());
}

TEST_F(BankConflicts, NothingToDoIsNoLaunch) {
  const auto out = output<float>(0);
  EXPECT_THROW(launch(reduce<Sequential>, 0, threads, 0, nullptr, out.data(), out.data(), 0),
               CudaError);
}

}  // namespace
}  // namespace gpubench
