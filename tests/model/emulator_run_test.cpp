// Kernels whose every count follows from arithmetic, run through the model's CUDA runtime: which
// blocks run, and how mistakes are told.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/platform/model/engine/block_sample.hpp"
#include "tests/model/drawing_kernels.hpp"
#include "tests/model/emulator_fixture.hpp"
#include "tests/model/emulator_kernels.hpp"

namespace gpubench::model {
namespace {

std::string at_line(int line) { return "emulator_kernels.cpp:" + std::to_string(line); }

// --- the host's memory ---

TEST_F(EmulatorTest, ABlockThatTouchesTooMuchToBeKeptIsRefusedUnlessWholeGridsAreAskedFor) {
  constexpr unsigned length = 1 << 19;  // as many sectors as a block may touch unasked
  const float* row = make<float>(length);
  float* out = make<float>(32);
  Emulator small(spec, memory, {.threads = 2, .most_host_bytes = 1});
  use(small);
  const auto run = [&](Execution execution) {
    small.forget_runs();
    small.set_execution(execution);
    kernels::sum_row_and_column(out, row, row, length, 1);
    return cudaDeviceSynchronize();
  };
  EXPECT_EQ(run(Execution::sampled), cudaErrorMemoryAllocation);
  EXPECT_NE(small.lacking_memory().find("only with --whole_grids"), std::string::npos)
      << small.lacking_memory();
  // Nothing else is lost by it.
  EXPECT_EQ(run(Execution::whole), cudaSuccess) << diagnostic;
  EXPECT_EQ(small.lacking_memory(), "");
  use(emulator);
}

TEST_F(EmulatorTest, WhatAWholeGridMayTouchIsAskedForFirst) {
  constexpr std::size_t too_much = std::size_t{1} << 39;
  DeviceMemory large(2 * too_much);
  Emulator whole(spec, large, {.threads = 1});
  whole.set_execution(Execution::whole);
  install_runtime(std::make_unique<Runtime>(spec, large, whole, RuntimeOptions{}));
  float* data = nullptr;
  ASSERT_EQ(cudaMalloc(&data, too_much), cudaSuccess);
  kernels::copy(data + 32, data, 32, 1, 32);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorMemoryAllocation);
  EXPECT_NE(whole.lacking_memory().find("another 549.8 GB"), std::string::npos)
      << whole.lacking_memory();
  use(emulator);
}

// --- samples ---

TEST_F(EmulatorTest, ASampleExtrapolatesToTheWholeGrid) {
  constexpr unsigned blocks = 500, elements = blocks * 256;
  const float* in = upload(std::vector<float>(elements, 1));
  float* out = make<float>(elements);
  float* sums = make<float>(blocks);
  const std::function<void()> launches[] = {
      [&] { kernels::copy(out, in, elements, blocks, 256); },
      [&] { kernels::reduce_blocks(sums, in, elements, blocks); },
      [&] { kernels::reduce_by_warps(sums, in, blocks); }};
  Emulator sampling(spec, memory, {.threads = 2, .most_sampled_blocks = 16});
  for (const auto& launch : launches) {
    use(emulator);
    const Counts whole = counts_of(launch);
    use(sampling);
    sampling.forget_runs();
    launch();
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    const KernelProfile& profile = sampling.runs().at(0).profile;
    EXPECT_FALSE(sampling.runs()[0].whole);
    EXPECT_EQ(profile.traced_blocks, 16);
    const Counts scaled = profile.counts.scaled(profile.scale());
    for (const Space space : {Space::global, Space::shared}) {
      for (const Access kind : {Access::load, Access::store, Access::atomic}) {
        const AccessCounts& a = whole.at(space, kind);
        const AccessCounts& b = scaled.at(space, kind);
        EXPECT_DOUBLE_EQ(a.requests, b.requests);
        EXPECT_DOUBLE_EQ(a.lanes, b.lanes);
        EXPECT_DOUBLE_EQ(a.bytes, b.bytes);
        EXPECT_DOUBLE_EQ(a.sectors, b.sectors);
        EXPECT_DOUBLE_EQ(a.lines, b.lines);
        EXPECT_DOUBLE_EQ(a.wavefronts, b.wavefronts);
        EXPECT_DOUBLE_EQ(a.ideal_wavefronts, b.ideal_wavefronts);
      }
    }
    EXPECT_DOUBLE_EQ(whole.barriers, scaled.barriers);
    for (std::size_t c = 0; c < warp_operation_kinds; ++c) {
      EXPECT_DOUBLE_EQ(whole.warp_operations[c], scaled.warp_operations[c]);
    }
    EXPECT_NEAR(emulator.runs()[0].prediction.seconds, sampling.runs()[0].prediction.seconds,
                0.02 * sampling.runs()[0].prediction.seconds);
  }
}

TEST_F(EmulatorTest, AWholeGridIsExecutedThoughASampleIsTraced) {
  constexpr unsigned blocks = 300, elements = blocks * 256 - 17;
  const std::vector<float> in = numbers(elements);
  const float* from = upload(in);
  float* to = make<float>(elements);
  Emulator sampling(spec, memory, {.threads = 2, .most_sampled_blocks = 8});
  sampling.set_execution(Execution::whole);
  use(sampling);
  kernels::copy(to, from, elements, blocks, 256);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(download(to, elements), in);
  EXPECT_TRUE(sampling.runs().at(0).whole);
  EXPECT_EQ(sampling.runs()[0].profile.traced_blocks, 8);
}

TEST_F(EmulatorTest, AWholeGridIsTracedWhereThatIsAskedForWhateverItCosts) {
  constexpr unsigned blocks = 300;
  const float* from = upload(numbers(blocks * 256));
  float* to = make<float>(blocks * 256);
  Emulator counting(spec, memory, {.threads = 2, .most_sampled_blocks = 8, .event_budget = 1});
  counting.set_execution(Execution::counted);
  use(counting);
  kernels::copy(to, from, blocks * 256, blocks, 256);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_TRUE(counting.runs().at(0).whole);
  EXPECT_EQ(counting.runs()[0].profile.traced_blocks, blocks);
}

class DrawingTest : public EmulatorTest {
 protected:
  // Far fewer tiles than blocks.
  void draw() {
    kernels::draw(to, upload(in), upload(std::vector<unsigned>{0}), tiles * 256, blocks, 256);
  }
  static constexpr unsigned blocks = 300, tiles = 64;
  const std::vector<float> in = numbers(tiles * 256);
  float* to = make<float>(tiles * 256);
  Emulator few{spec, memory, {.threads = 2, .most_sampled_blocks = 8}};
};

TEST_F(DrawingTest, ASampleThatDrawsTheWorkOfAllIsRefused) {
  use(few);
  const std::string fault = fault_of([&] { draw(); });
  EXPECT_NE(fault.find("bench.run_every_block()"), std::string::npos) << fault;
}

TEST_F(DrawingTest, AGridThatDrawsItsWorkIsCountedWhole) {
  few.set_execution(Execution::counted);
  use(few);
  draw();
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(download(to, tiles * 256), in);
  const Counts& counts = few.runs().at(0).profile.counts;
  EXPECT_EQ(counts.at(Space::global, Access::atomic).requests, tiles + blocks);
}

TEST_F(EmulatorTest, TimingRunsAKernelOnceForArgumentsOfOneShape) {
  const float* in = upload(numbers(256));
  const float* same_shape = upload(std::vector<float>(256, 7));
  float* out = make<float>(256);
  emulator.set_execution(Execution::timing);
  kernels::copy(out, in, 256, 1, 256);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(download(out, 256), numbers(256));
  // What fresh memory happens to hold between the arguments has no say.
  for (std::size_t bytes = 16; bytes <= 256; bytes += 16) {
    std::unique_ptr<char[]> scribbled(new char[bytes]);
    std::fill_n(static_cast<volatile char*>(scribbled.get()), bytes, char{0x5A});
  }
  kernels::copy(out, same_shape, 256, 1, 256);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(download(out, 256), numbers(256));  // not run again
  kernels::copy(out, same_shape, 255, 1, 256);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(download(out, 2)[1], 7);
}

TEST_F(EmulatorTest, CountsDoNotDependOnTheNumberOfThreads) {
  constexpr unsigned blocks = 37;
  const float* in = upload(std::vector<float>(10000, 1));
  float* out = make<float>(blocks);
  const Counts two = counts_of([&] { kernels::reduce_blocks(out, in, 10000, blocks); });
  Emulator single(spec, memory, {.threads = 1, .most_sampled_blocks = 64});
  use(single);
  kernels::reduce_blocks(out, in, 10000, blocks);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const Counts& one = single.runs().at(0).profile.counts;
  EXPECT_EQ(one.at(Space::global, Access::load).sectors,
            two.at(Space::global, Access::load).sectors);
  EXPECT_EQ(one.at(Space::shared, Access::load).requests,
            two.at(Space::shared, Access::load).requests);
}

// --- mistakes ---

TEST_F(EmulatorTest, FaultsNameTheThreadTheLineAndTheDamage) {
  const float* in = make<float>(100);
  float* out = make<float>(100);
  unsigned* words = make<unsigned>(64);
  const struct {
    std::function<void()> launch;
    std::vector<std::string> says;
  } mistakes[] = {
      {[&] { kernels::load_beyond(out, in, 100); },
       {"out of bounds: 4-byte load at byte 400 of an allocation of 400", "thread (0,0,0)",
        at_line(kernels::lines.load)}},
      {[&] { kernels::load_beyond(out, in, 5000); },
       {"4-byte load at byte 20000 of an allocation of 400", at_line(kernels::lines.load)}},
      {[&] { kernels::load_beyond(out, nullptr, 3); },
       {"4-byte load", "no device memory", at_line(kernels::lines.load)}},
      {[&] { kernels::store_beyond(out, 120); },
       {"out of bounds: 4-byte store at byte 480 of an allocation of 400",
        "thread (3,0,0) of block (1,0,0)", at_line(kernels::lines.store)}},
      {[&] { kernels::add_beyond(out, 101); },
       {"out of bounds: 4-byte atomic at byte 404", at_line(kernels::lines.atomic)}},
      {[&] { kernels::load_misaligned(reinterpret_cast<float4*>(out), in); },
       {"misaligned 16-byte", at_line(kernels::lines.misaligned)}},
      {[&] { kernels::barrier_in_branch(words); },
       {"divergent barrier in block (0,0,0)", "thread (0,0,0) waits at the barrier",
        at_line(kernels::lines.barrier), "thread (16,0,0) waits at the barrier",
        at_line(kernels::lines.barrier + 3)}},
      {[&] { kernels::shuffle_with_the_ended(words); },
       {"already ended", "by thread (", at_line(kernels::lines.ended)}},
      {[&] { kernels::ballot_without_oneself(words); },
       {"leaves out its own lane", at_line(kernels::lines.without_oneself)}},
      {[&] { kernels::wait_for_nobody(words); },
       {"thread (0,0,0) waits for its warp", at_line(kernels::lines.nobody),
        "thread (16,0,0) waits at the barrier", at_line(kernels::lines.nobody + 3)}},
  };
  for (const auto& mistake : mistakes) {
    const std::string fault = fault_of(mistake.launch);
    for (const std::string& words_of_it : mistake.says) {
      EXPECT_NE(fault.find(words_of_it), std::string::npos) << fault << "\nlacks " << words_of_it;
    }
    EXPECT_EQ(fault.find('\n'), std::string::npos);
    // The emulator runs the next kernel as if nothing had been.
    const float* from = upload(numbers(64));
    float* to = make<float>(64);
    const Counts counts = counts_of([&] { kernels::copy(to, from, 64, 1, 64); });
    EXPECT_EQ(download(to, 64), numbers(64));
    EXPECT_EQ(counts.at(Space::global, Access::load).requests, 2);
  }
}

TEST_F(EmulatorTest, HostMemoryIsForThoseWhomItIsMappedFor) {
  const std::vector<float> host = numbers(64);
  float* out = make<float>(64);
  const std::string fault = fault_of([&] { kernels::copy(out, host.data(), 64, 1, 64); });
  EXPECT_NE(fault.find("no device memory: 4-byte load at host address 0x"), std::string::npos)
      << fault;
  Emulator mapping(spec, memory,
                   {.threads = 1, .is_mapped_host = [&](const void* address, std::size_t) {
                      return address >= host.data() && address < host.data() + 64;
                    }});
  use(mapping);
  kernels::copy(out, host.data(), 64, 1, 64);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
  EXPECT_EQ(download(out, 64), host);
}

TEST_F(EmulatorTest, FreedMemoryIsOutOfBounds) {
  float* gone = make<float>(64);
  float* out = make<float>(64);
  memory.release(gone);
  EXPECT_NE(fault_of([&] { kernels::load_beyond(out, gone, 0); }).find("out of bounds"),
            std::string::npos);
}

TEST_F(EmulatorTest, UninitialisedMemoryReadsAsNotANumber) {
  float* never_written = make<float>(64);
  float* out = make<float>(64);
  counts_of([&] { kernels::copy(out, never_written, 64, 1, 64); });
  for (const float value : download(out, 64)) EXPECT_TRUE(std::isnan(value));
}

// --- blocks that take turns at several amounts of work ---

class BlockSampleTest : public testing::Test {
 protected:
  BlockSampleTest() { launch.grid = dim3(blocks); }

  // Has a grid's blocks chosen, whose work `cost` tells; what to_balance() adds to those counted.
  template <class Cost>
  std::vector<std::uint64_t> added(std::size_t count, const Cost& cost) {
    BlockSample sample(spec, memory);
    BlockWork work;
    const auto run = [&](const std::vector<std::uint64_t>& chosen) {
      for (const std::uint64_t block : chosen) {
        EXPECT_LT(block, blocks);
        EXPECT_TRUE(work.emplace(block, cost(block)).second) << "twice: " << block;
      }
    };
    counted = sample.choose(blocks, count);
    run(counted);
    run(sample.to_probe(launch, work));
    const std::vector<std::uint64_t> more = sample.to_balance(launch, work, counted);
    run(more);
    counted.insert(counted.end(), more.begin(), more.end());
    return more;
  }
  template <class Cost>
  double mean(const Cost& cost) const {
    double sum = 0;
    for (const std::uint64_t block : counted) sum += static_cast<double>(cost(block));
    return sum / static_cast<double>(counted.size());
  }

  static constexpr unsigned blocks = 6144;
  const DeviceSpec spec = device_spec("h200-sxm");
  DeviceMemory memory{std::size_t{1} << 20};
  KernelLaunch launch;
  std::vector<std::uint64_t> counted;
};

// As the experts of a mixture have tokens: the mean of a sample is the grid's, whatever its size.
TEST_F(BlockSampleTest, EachAmountOfWorkIsAsFrequentInTheSampleAsInTheGrid) {
  constexpr std::uint64_t costs[] = {400, 200, 100, 900};
  const auto in_turns = [&](std::uint64_t block) { return costs[block % 4]; };
  for (std::size_t count = 2; count <= 32; ++count) {
    SCOPED_TRACE(count);
    const bool balanced = count % 4 == 0;
    const auto more = added(count, in_turns);
    EXPECT_EQ(more.empty(), balanced);
    EXPECT_LT(more.size(), 4u);
    EXPECT_DOUBLE_EQ(mean(in_turns), 400);
  }
}

TEST_F(BlockSampleTest, NothingIsAddedWhereBlocksTakeNoTurns) {
  const auto equal = [](std::uint64_t) { return std::uint64_t{400}; };
  const auto ragged = [](std::uint64_t block) {
    return std::uint64_t{block + 1 == blocks ? 7u : 400u};
  };
  const auto rising = [](std::uint64_t block) { return 100 + block; };
  for (std::size_t count = 2; count < 32; ++count) {
    SCOPED_TRACE(count);
    EXPECT_TRUE(added(count, equal).empty());
    EXPECT_TRUE(added(count, ragged).empty());
    if (count % 2 == 0) {
      EXPECT_TRUE(added(count, rising).empty());
    }
  }
}

// What an earlier kernel has left out, a later one may not read.
TEST_F(BlockSampleTest, BlocksThatAnEarlierKernelLeftOutAreNotAdded) {
  BlockSample sample(spec, memory);
  sample.choose(blocks, 7);
  counted = sample.choose(blocks, 6);
  BlockWork work;
  for (const std::uint64_t block : counted) work[block] = 100 * (1 + block % 4);
  EXPECT_TRUE(sample.to_balance(launch, work, counted).empty());
  counted = sample.choose(blocks, 3);
  work.clear();
  for (const std::uint64_t block : counted) work[block] = 100 * (1 + block % 4);
  EXPECT_TRUE(sample.to_probe(launch, work).empty());
}

}  // namespace
}  // namespace gpubench::model
