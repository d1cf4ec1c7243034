// cuBLASLt on the model device: prices by arithmetic, and what it refuses. (Its results, on any
// device: tests/device/gemm_test.cpp.)
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/cuda/buffer.hpp"
#include "harness/platform/gemm.hpp"
#include "harness/platform/model/gemm/cost.hpp"
#include "harness/platform/model/gemm/operands.hpp"
#include "harness/platform/model/runtime/runtime.hpp"
#include "tests/model/fake_executor.hpp"

namespace gpubench::model {
namespace {

class GemmTest : public testing::Test {
 protected:
  GemmTest() { install_runtime(std::make_unique<Runtime>(device_, memory_, executor_)); }
  ~GemmTest() override { install_runtime(nullptr); }

  GemmCost cost(const GemmShape& shape) const { return gemm_cost(shape, device_); }
  double lead() const { return device_["kernel_floor_seconds"] - device_["launch_stream_seconds"]; }
  // What an H200 reaches if this part of the bytes is written: half of them at most, or all.
  static double dram_bytes_per_second(double written) {
    return 4.8e12 * (written <= 0.5 ? std::lerp(0.917, 0.896, 2 * written) : 0.917);
  }
  double term(const GemmCost& cost, const std::string& name) const {
    for (const auto& [key, seconds] : cost.terms) {
      if (key == name) return seconds;
    }
    ADD_FAILURE() << name;
    return 0;
  }

  const DeviceSpec device_ = device_spec("h200-sxm");
  DeviceMemory memory_{std::size_t{1} << 30, 1};
  FakeExecutor executor_;
};

// GeForce GPUs multiply fp16 at half the rate if sums are fp32.
TEST_F(GemmTest, SumsInFp16AreFasterWhereTheDeviceFileSaysSo) {
  const auto roof_and_seconds = [](GemmType type, const DeviceSpec& device) {
    const GemmCost cost = gemm_cost(GemmShape::dense(type, 8192, 8192, 8192), device);
    return std::pair{cost.roof, cost.seconds};
  };
  for (const char* name : {"rtx-4090", "rtx-5090"}) {
    const DeviceSpec device = device_spec(name);
    const auto [roof, seconds] = roof_and_seconds(GemmType::fp16_acc16, device);
    const auto [wide_roof, wide_seconds] = roof_and_seconds(GemmType::fp16, device);
    EXPECT_EQ(roof, "tensor_fp16_acc16");
    EXPECT_EQ(wide_roof, "tensor_fp16");
    EXPECT_NEAR(wide_seconds / seconds, 2, 0.1) << name;
    EXPECT_EQ(device["tensor_fp16_flops_per_clock_per_sm"],
              device["tensor_bf16_flops_per_clock_per_sm"]);
  }
  EXPECT_EQ(roof_and_seconds(GemmType::fp16_acc16, device_),
            roof_and_seconds(GemmType::fp16, device_));
}

// Not with block scales.
TEST_F(GemmTest, BlockScalesAreFasterWhereTheDeviceFileSaysSo) {
  const auto cost = [](GemmType type, const DeviceSpec& device) {
    return gemm_cost(GemmShape::dense(type, 8192, 8192, 8192), device);
  };
  const DeviceSpec geforce = device_spec("rtx-5090"), workstation = device_spec("rtx-pro-6000");
  EXPECT_EQ(cost(GemmType::mxfp8, geforce).roof, "tensor_mxfp8");
  EXPECT_EQ(cost(GemmType::fp8, geforce).roof, "tensor_fp8");
  EXPECT_NEAR(cost(GemmType::fp8, geforce).seconds / cost(GemmType::mxfp8, geforce).seconds, 2,
              0.15);
  EXPECT_EQ(cost(GemmType::mxfp8, workstation).roof, "tensor_fp8");
}

TEST_F(GemmTest, ABatchCostsItsTiles) {
  const GemmShape tile = GemmShape::dense(GemmType::bf16, 1024, 1024, 1024);
  const GemmCost one = gemm_cost(tile, device_), many = gemm_cost(tile, device_, 33);
  EXPECT_EQ(many.tiles * many.tile_m * many.tile_n, 33 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(term(many, "dram"), 33 * term(one, "dram"));
}

TEST_F(GemmTest, LargeOnesArePriced) {
  current_runtime()->expect_results(true);
  const Gemm large(GemmShape::dense(GemmType::bf16, 4096, 4096, 4096));
  const DeviceBuffer<char> memory(1 << 20);
  large.queue(nullptr, memory.data(), memory.data(), memory.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const std::vector<PricedOperation> operations = current_runtime()->operations();
  ASSERT_EQ(operations.size(), 1u);
  const PricedOperation& operation = operations.front();
  EXPECT_FALSE(operation.computed);
  EXPECT_EQ(operation.bound, "tensor");
  EXPECT_EQ(operation.roof, "tensor_bf16");
  EXPECT_DOUBLE_EQ(operation.seconds, cost(large.shape()).seconds);
}

TEST_F(GemmTest, WholeWavesOfWholeTilesTakeTheUnitsTime) {
  // 132 tiles of 128 x 256: one wave.
  const GemmCost one = cost(GemmShape::dense(GemmType::bf16, 128 * 12, 256 * 11, 8192));
  EXPECT_EQ(one.tile_m * one.tile_n, 128u * 256u);
  EXPECT_EQ(one.tiles, 132);
  EXPECT_EQ(one.waves, 1);
  const double cycles = 2.0 * 128 * 256 * 8192 / (4096 * 0.742) + 128.0 * 256 * 2 / (32 * 16);
  EXPECT_NEAR(term(one, "tensor"), cycles / 1.98e9, 1e-12);
  // Operands come beside the sums. The first ones are waited for, and the last tiles' results go,
  // beside half of the tiles.
  const double results = 132 * 128.0 * 256 * 2;
  const double alone = results / dram_bytes_per_second(1) + 689 / 1.98e9;
  EXPECT_NEAR(one.seconds, term(one, "tensor") + alone / 2 + 4.2e-6, 1e-9);
}

TEST_F(GemmTest, ATileMoreIsAWaveMore) {
  const auto seconds = [&](std::size_t m) {
    return term(cost(GemmShape::dense(GemmType::bf16, m, 256 * 132, 4096)), "tensor");
  };
  EXPECT_DOUBLE_EQ(seconds(1), seconds(64));
  EXPECT_DOUBLE_EQ(seconds(1024), 8 * seconds(128));
  EXPECT_GT(seconds(1025), seconds(1024) + 0.4 * seconds(128));
}

TEST_F(GemmTest, AlignmentIsThatOfEveryRow) {
  EXPECT_EQ(operand_alignment(GemmShape::dense(GemmType::bf16, 5, 7, 64)), 16u);
  EXPECT_EQ(operand_alignment(GemmShape::dense(GemmType::bf16, 64, 64, 68)), 8u);
  EXPECT_EQ(operand_alignment(GemmShape::dense(GemmType::fp16, 64, 64, 50257)), 2u);
  EXPECT_EQ(operand_alignment(GemmShape::dense(GemmType::tf32, 64, 64, 65)), 4u);
  EXPECT_EQ(operand_alignment({GemmType::bf16, 64, 64, 64, 64, 66, 64}), 4u);
  EXPECT_EQ(result_alignment(GemmShape::dense(GemmType::bf16, 5, 50257, 64)), 2u);
  EXPECT_EQ(result_alignment(GemmShape::dense(GemmType::bf16, 5, 50304, 64)), 16u);
}

TEST_F(GemmTest, RowsThatAreNotAlignedTakeTheSlowerKernels) {
  const auto tensor = [&](std::size_t n, std::size_t k) {
    const GemmShape shape = GemmShape::dense(GemmType::bf16, 12 * 128, n, k);
    return term(cost(shape), "tensor");
  };
  const double whole = tensor(11 * 256, 8192);
  // Depths of 8161 to 8192 all take 256 steps of 32; so do widths one less.
  EXPECT_DOUBLE_EQ(tensor(11 * 256, 8184), whole);
  const double stores = 128.0 * 256 * 2 / (32 * 16) / 1.98e9;
  EXPECT_NEAR((tensor(11 * 256, 8188) - stores) / (whole - stores), 1 / 0.283, 1e-9);
  EXPECT_DOUBLE_EQ(tensor(11 * 256, 8191), tensor(11 * 256, 8188));
  // Odd ends of the result's rows are as slow, even ones take a kernel of the generation before.
  const double narrow = 128.0 * 256 * 2 / (32 * 2) / 1.98e9;  // 2 bytes per lane
  EXPECT_NEAR((tensor(11 * 256 - 1, 8192) - narrow) / (whole - stores), 1 / 0.283, 1e-9);
  EXPECT_NEAR((tensor(11 * 256 - 2, 8192) - narrow / 2) / (whole - stores), 1 / 0.66, 1e-9);
}

TEST_F(GemmTest, SmallOnesAreBoundByWhatTheyMove) {
  EXPECT_EQ(cost(GemmShape::dense(GemmType::bf16, 0, 64, 64)).bound, "launch");
  EXPECT_NEAR(cost(GemmShape::dense(GemmType::bf16, 0, 64, 64)).seconds, 4.2e-6, 1e-8);
  const GemmShape thin = GemmShape::dense(GemmType::bf16, 16, 1 << 16, 4096);
  EXPECT_EQ(cost(thin).bound, "dram");
  const double written = 16.0 * (1 << 16) * 2 / thin.bytes();
  EXPECT_NEAR(term(cost(thin), "dram"), thin.bytes() / dram_bytes_per_second(written), 1e-12);
}

// What cuBLAS takes for few tokens, published: 40 % of an H100's bandwidth in fp16 (NVIDIA/cutlass
// issue 1176; the model says 50 %), and 27 us on an RTX 3090, 73 % of its 936 GB/s and as many SMs
// less two as an A6000 has (issue 1582).
TEST_F(GemmTest, AStripOfTilesIsCutAlongItsSums) {
  const GemmShape strip = GemmShape::dense(GemmType::fp16, 16, 2752, 4096);
  const GemmCost h100 = gemm_cost(strip, device_spec("h100-sxm"));
  EXPECT_EQ(h100.tiles, 43);
  EXPECT_EQ(h100.parts, 1);  // its memory is busy with them
  EXPECT_EQ(h100.waves, 1);
  EXPECT_NEAR(strip.bytes() / 3.35e12 / h100.seconds, 0.50, 0.02);  // published: 0.40
  const GemmShape small = GemmShape::dense(GemmType::fp16, 16, 1792, 5120);
  const GemmCost a6000 = gemm_cost(small, device_spec("rtx-a6000"));
  EXPECT_EQ(a6000.parts, 3);
  EXPECT_NEAR(small.bytes() / 768e9 / a6000.seconds, 0.73, 0.07);
  // Not so where tiles occupy the SMs, nor where D is no strip.
  EXPECT_EQ(cost(GemmShape::dense(GemmType::bf16, 1, 14336, 4096)).parts, 1);
  EXPECT_EQ(cost(GemmShape::dense(GemmType::bf16, 128, 128, 8192)).parts, 1);
}

// A tile of 64 x 128 needs 128 rows of weights, which no other block has, and half of m rows of
// activations: a neighbour asks for the others.
TEST_F(GemmTest, RowsThatNobodyHasAreNotFetched) {
  const auto l2 = [&](std::size_t m) {
    return term(cost(GemmShape::dense(GemmType::bf16, m, 14336, 4096)), "l2");
  };
  EXPECT_NEAR(l2(64) / l2(1), (128 + 32) / (128 + 0.5), 1e-9);
}

TEST_F(GemmTest, AScaleOfNvfp4HasNoSign) {
  constexpr std::size_t edge = 16, depth = 32, blocks = 2;
  const auto upload = [this](const std::vector<std::uint8_t>& bytes) {
    void* const device = memory_.allocate(bytes.size());
    memory_.write(device, bytes.data(), bytes.size());
    return device;
  };
  constexpr std::uint8_t two_ones = 0x22, one_and_a_bit = 0x80 | 0x38;
  const void* const elements = upload(std::vector<std::uint8_t>(edge * depth / 2, two_ones));
  const void* const scales =
      upload(std::vector<std::uint8_t>(scale_bytes(edge, blocks), one_and_a_bit));
  const auto [a, b] = operands_of(GemmShape::dense(GemmType::nvfp4, edge, edge, depth), memory_,
                                  elements, elements, {scales, scales});
  EXPECT_EQ(a, std::vector<double>(edge * depth, 1));
  EXPECT_EQ(b, a);
}

TEST_F(GemmTest, RefusesWhatTheLibraryRefuses) {
  const auto why = [](const GemmShape& shape) -> std::string {
    try {
      Gemm gemm(shape);
      return "";
    } catch (const GemmUnavailable& unavailable) {
      return unavailable.what();
    }
  };
  EXPECT_EQ(why(GemmShape::dense(GemmType::fp8, 1, 8, 16)), "");
  EXPECT_NE(why(GemmShape::dense(GemmType::fp8, 16, 16, 24)).find("multiples of 16 bytes"),
            std::string::npos);
  EXPECT_NE(why(GemmShape::dense(GemmType::fp8, 16, 12, 16)).find("16 bytes"), std::string::npos);
  EXPECT_EQ(why(GemmShape::dense(GemmType::int8, 1, 4, 4)), "");
  EXPECT_NE(why(GemmShape::dense(GemmType::int8, 4, 4, 6)).find("multiples of 4"),
            std::string::npos);
  EXPECT_NE(why(GemmShape::dense(GemmType::int8, 4, 6, 4)).find("multiples of 4"),
            std::string::npos);
}

TEST_F(GemmTest, WaitsForItsStreamAndTakesTheWholeDevice) {
  cudaStream_t one = nullptr, other = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  const Gemm gemm(GemmShape::dense(GemmType::bf16, 4096, 4096, 4096));
  const DeviceBuffer<char> memory(1 << 20), elsewhere(1 << 20);
  const double begin = current_runtime()->host_seconds();
  gemm.queue(one, memory.data(), memory.data(), memory.data());
  gemm.queue(other, elsewhere.data(), elsewhere.data(), elsewhere.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_GE(current_runtime()->host_seconds() - begin, 2 * cost(gemm.shape()).seconds - lead());
}

// A launch overlaps with the end of the product before, as those of kernels do.
TEST_F(GemmTest, ProductsOfAStreamAreSpacedAsKernelsAre) {
  const Gemm gemm(GemmShape::dense(GemmType::bf16, 1024, 1024, 1024));
  const DeviceBuffer<char> memory(1 << 20);
  const auto seconds = [&](unsigned products) {
    const double begin = current_runtime()->host_seconds();
    for (unsigned i = 0; i < products; ++i) {
      gemm.queue(nullptr, memory.data(), memory.data(), memory.data());
    }
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    return current_runtime()->host_seconds() - begin;
  };
  const double each = (seconds(9) - seconds(1)) / 8;
  EXPECT_NEAR(each, cost(gemm.shape()).seconds - lead(), 1e-9);
  EXPECT_GT(each, device_["launch_stream_seconds"]);
}

}  // namespace
}  // namespace gpubench::model
