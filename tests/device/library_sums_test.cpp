// CUB's and Thrust's sums against a plain loop. Inputs are multiples of 2^-10, so that no order of
// adding them rounds.
#include "harness/platform/library_sums.hpp"

#include "harness/cuda/stream.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

class LibrarySums : public KernelTest {
 protected:
  static constexpr std::size_t most = (1 << 20) - 3;
  static constexpr std::size_t sizes[] = {1, 2, 31, 33, 255, 4095, 4096, 4097, 65537, most};

  static float sum_of(std::size_t n) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(values<float>(i));
    return static_cast<float>(sum);
  }
};

TEST_F(LibrarySums, CubAddsUpToAsManyWordsAsItWasMadeFor) {
  const auto in = input<float>(most);
  const CubSum cub(most);
  const Stream stream;
  for (const std::size_t n : sizes) {
    const auto out = output<float>(1);
    CUDA_CHECK(cudaDeviceSynchronize());  // the stream is not ordered with what poisons
    cub.queue(in.data(), n, out.data(), stream);
    stream.synchronize();
    EXPECT_EQ(out.download().front(), sum_of(n)) << n;
  }
}

TEST_F(LibrarySums, ThrustBringsTheSumToTheHost) {
  const auto in = input<float>(most);
  const Stream stream;
  for (const std::size_t n : sizes) {
    EXPECT_EQ(thrust_sum(in.data(), n, stream), sum_of(n)) << n;
  }
}

TEST_F(LibrarySums, BeginAtAnyWord) {
  const auto in = input<float>(4100);
  const CubSum cub(4099);
  const auto out = output<float>(1);
  cub.queue(in.data() + 1, 4099, out.data(), nullptr);
  EXPECT_EQ(out.download().front(), sum_of(4100) - values<float>(0));
  EXPECT_EQ(thrust_sum(in.data() + 1, 4099, nullptr), sum_of(4100) - values<float>(0));
}

}  // namespace
}  // namespace gpubench
