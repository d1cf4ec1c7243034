// Kernels whose every count follows from arithmetic, run through the model's CUDA runtime.
#include "harness/platform/model/engine/emulator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "tests/model/emulator_fixture.hpp"
#include "tests/model/emulator_kernels.hpp"

namespace gpubench::model {
namespace {

std::string at_line(int line) { return "emulator_kernels.cpp:" + std::to_string(line); }

// --- results ---

TEST_F(EmulatorTest, CopiesWithARaggedEnd) {
  const std::vector<float> in = numbers(1000);
  const float* from = upload(in);
  float* to = make<float>(1000);
  const Counts counts = counts_of([&] { kernels::copy(to, from, 1000, 4, 256); });
  EXPECT_EQ(download(to, 1000), in);
  for (const Access kind : {Access::load, Access::store}) {
    // 31 full warps and one of 8 lanes; 4000 bytes are 125 sectors on 32 lines.
    expect_access(counts.at(Space::global, kind), 32, 1000, 4000);
    EXPECT_EQ(counts.at(Space::global, kind).sectors, 125);
    EXPECT_EQ(counts.at(Space::global, kind).lines, 32);
  }
  EXPECT_EQ(counts.at(Space::shared, Access::load).requests, 0);
}

TEST_F(EmulatorTest, NumbersThreadsOfThreeDimensions) {
  const dim3 grid(3, 2, 2), block(5, 3, 4);  // 60 threads: a partial second warp
  unsigned* out = make<unsigned>(12 * 60);
  const Counts counts = counts_of([&] { kernels::number_threads(out, grid, block); });
  std::vector<unsigned> expected(12 * 60);
  std::iota(expected.begin(), expected.end(), 0u);
  EXPECT_EQ(download(out, expected.size()), expected);
  EXPECT_EQ(counts.at(Space::global, Access::store).requests, 12 * 2);
}

// --- global memory ---

// Distinct pieces of `piece` bytes that 32 accesses of `width` bytes touch.
unsigned pieces(unsigned width, unsigned stride, unsigned offset, unsigned lanes, unsigned piece) {
  // Ascending addresses: a piece is new iff it lies beyond the last one.
  unsigned count = 0;
  long last = -1;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const long begin = static_cast<long>(offset + lane * stride) * width;
    const long to = (begin + width - 1) / piece;
    count += static_cast<unsigned>(to - std::max(last, begin / piece - 1));
    last = std::max(last, to);
  }
  return count;
}

TEST_F(EmulatorTest, SectorsOfEveryStrideAndOffset) {
  const char* in = make<char>(16 * (32 + 64 * 32));
  char* out = make<char>(16 * (32 + 64 * 32));
  for (const unsigned width : {4u, 8u, 16u}) {
    for (unsigned stride = 1; stride <= 64; ++stride) {
      for (unsigned offset = 0; offset < 32; offset += stride % 8 == 1 ? 1 : 7) {
        const auto loads = loads_of([&] { kernels::load_strided(width, out, in, stride, offset); });
        ASSERT_EQ(loads.requests, 1);
        ASSERT_EQ(loads.bytes, 32 * width);
        ASSERT_EQ(loads.sectors, pieces(width, stride, offset, 32, 32))
            << width << " bytes, stride " << stride << ", offset " << offset;
        ASSERT_EQ(loads.lines, pieces(width, stride, offset, 32, 128));
      }
    }
  }
}

TEST_F(EmulatorTest, SectorsToldByHeart) {
  const char* in = make<char>(1 << 16);
  char* out = make<char>(1 << 16);
  const auto sectors = [&](unsigned width, unsigned stride, unsigned offset) {
    return loads_of([&] { kernels::load_strided(width, out, in, stride, offset); }).sectors;
  };
  EXPECT_EQ(sectors(4, 0, 0), 1);  // a broadcast
  EXPECT_EQ(sectors(4, 1, 0), 4);
  EXPECT_EQ(sectors(4, 1, 1), 5);  // shifted by a word
  EXPECT_EQ(sectors(4, 1, 8), 4);  // by a sector
  EXPECT_EQ(sectors(4, 2, 0), 8);
  EXPECT_EQ(sectors(4, 8, 0), 32);
  EXPECT_EQ(sectors(4, 64, 0), 32);
  EXPECT_EQ(sectors(8, 1, 0), 8);
  EXPECT_EQ(sectors(16, 1, 0), 16);
  EXPECT_EQ(sectors(16, 1, 1), 17);
}

TEST_F(EmulatorTest, StoresAreCountedAsLoadsAre) {
  char* out = make<char>(1 << 16);
  for (const unsigned width : {4u, 8u, 16u}) {
    for (const unsigned stride : {1u, 2u, 3u, 8u, 33u}) {
      const AccessCounts stores = counts_of([&] {
                                    kernels::store_strided(width, out, stride, 3, 20);
                                  }).at(Space::global, Access::store);
      expect_access(stores, 1, 20, 20 * width);
      EXPECT_EQ(stores.sectors, pieces(width, stride, 3, 20, 32));
    }
  }
}

TEST_F(EmulatorTest, PartialWarps) {
  const char* in = make<char>(1 << 12);
  char* out = make<char>(1 << 12);
  for (unsigned lanes = 1; lanes <= 32; ++lanes) {
    const auto loads = loads_of([&] { kernels::load_strided(4, out, in, 1, 0, lanes); });
    expect_access(loads, 1, lanes, 4 * lanes);
    EXPECT_EQ(loads.sectors, (lanes + 7) / 8);
  }
}

TEST_F(EmulatorTest, ArraysOfStructsAndStructsOfArrays) {
  constexpr unsigned elements = 256;
  const float* in = upload(numbers(4 * elements));
  float* out = make<float>(elements);
  const auto structs = loads_of([&] { kernels::sum_fields_of_structs(out, in, elements); });
  EXPECT_EQ(download(out, elements)[3], 12 + 13 + 14 + 15);
  const auto arrays = loads_of([&] { kernels::sum_fields_of_arrays(out, in, elements); });
  EXPECT_EQ(download(out, elements)[3], 4 * 3 + 6 * elements);
  EXPECT_EQ(structs.requests, 4 * elements / 32);
  EXPECT_EQ(arrays.requests, 4 * elements / 32);
  EXPECT_EQ(structs.sectors / structs.requests, 16);
  EXPECT_EQ(arrays.sectors / arrays.requests, 4);
}

TEST_F(EmulatorTest, StructsThatAreArgumentsAreRead) {
  const float* in = upload(numbers(6 * 32));
  float* out = make<float>(32);
  const Counts counts = counts_of([&] { kernels::pass_structs_by_value(out, in); });
  // 0 + ... + 5, and 36 more for each struct before.
  EXPECT_EQ(download(out, 32)[30], (15 + 36) + (15 + 30 * 36));
  expect_access(counts.at(Space::global, Access::load), 12, 12 * 32, 12 * 128);
  expect_access(counts.at(Space::shared, Access::store), 6, 6 * 32, 6 * 128);
  expect_access(counts.at(Space::shared, Access::load), 6, 6 * 32, 6 * 128);
  EXPECT_EQ(counts.at(Space::shared, Access::load).wavefronts, 6 * 2);  // a stride of 6 words
}

TEST_F(EmulatorTest, StructsOfHalfWordsAreCopiedByHalfWords) {
  std::vector<short> numbers(3 * 32);
  std::iota(numbers.begin(), numbers.end(), short{1});
  const short* in = upload(numbers);
  short* out = make<short>(numbers.size());
  const Counts counts = counts_of([&] { kernels::copy_odd_structs(out, in); });
  EXPECT_EQ(download(out, numbers.size()), numbers);
  expect_access(counts.at(Space::global, Access::load), 3, 3 * 32, 3 * 64);
  expect_access(counts.at(Space::global, Access::store), 3, 3 * 32, 3 * 64);
}

TEST_F(EmulatorTest, SectorsThatWaitForANewOneInTheirRequest) {
  const float* in = upload(numbers(160));
  float* out = make<float>(32);
  const auto beside_new = [&](unsigned offset) {
    counts_of([&] { kernels::sum_fields_of_arrays(out, in + offset, 32); });
    return emulator.runs().back().profile.footprints[0].read_beside_new;
  };
  EXPECT_EQ(beside_new(0), 0u);
  EXPECT_EQ(beside_new(1), 3u);  // the last sector of a warp's load is the first of its next
}

// What all blocks read does not fit into L2, and each of them runs beside its neighbours.
TEST_F(EmulatorTest, BlocksTellWhatTheyShareWithTheirNeighbours) {
  constexpr unsigned length = 1024, sectors = length / 8;
  const dim3 grid(20, 30);
  const std::size_t large = std::size_t{40} << 20;  // bytes
  float* out = make<float>(grid.x * grid.y * 32);
  const float* rows = make<float>(large / sizeof(float));
  const float* columns = make<float>(large / sizeof(float));
  counts_of([&] { kernels::sum_row_and_column(out, rows, columns, length, grid); });
  const KernelProfile& profile = emulator.runs().back().profile;
  EXPECT_EQ(profile.grid, (std::array<double, 3>{20, 30, 1}));
  ASSERT_EQ(profile.footprints.size(), 3u);
  const auto& of_rows = profile.footprints[1].shared;
  const auto& of_columns = profile.footprints[2].shared;
  EXPECT_EQ(of_rows[0].fraction, 1);  // with the block before it in x
  EXPECT_EQ(of_rows[1].fraction, 0);
  EXPECT_EQ(of_columns[0].fraction, 0);
  EXPECT_EQ(of_columns[1].fraction, 1);
  EXPECT_EQ(of_columns[1].skew, 0);
  // Backwards, beside as many reads of columns: |n - 1 - 2 i| of n sectors on average, twice.
  EXPECT_NEAR(of_rows[0].skew, 2 * sectors / 2.0, 8);
  // Compared blocks are not counted twice, nor those that were compared only.
  EXPECT_EQ(profile.counts.at(Space::global, Access::load).requests,
            profile.traced_blocks * 2 * length / 32);
}

TEST_F(EmulatorTest, BlocksOfWhatL2HoldsAreNotCompared) {
  float* out = make<float>(600 * 32);
  const float* in = make<float>(64 * 1024);
  counts_of([&] { kernels::sum_row_and_column(out, in, in, 1024, dim3(20, 30)); });
  for (const FootprintSums& f : emulator.runs().back().profile.footprints) {
    for (const Shared& shared : f.shared) EXPECT_EQ(shared.fraction, 0);
  }
}

// --- shared memory ---

TEST_F(EmulatorTest, WavefrontsOfEveryStride) {
  char* out = make<char>(1 << 12);
  const auto wavefronts = [&](unsigned width, unsigned stride, unsigned lanes) {
    const AccessCounts loads = counts_of([&] {
                                 kernels::load_shared(width, out, stride, lanes, 32 * 1024);
                               }).at(Space::shared, Access::load);
    expect_access(loads, 1, lanes, width * lanes);
    EXPECT_EQ(loads.ideal_wavefronts, (lanes * width + 127) / 128);
    return loads.wavefronts;
  };
  EXPECT_EQ(wavefronts(4, 0, 32), 1);  // a broadcast
  for (unsigned stride = 1; stride <= 64; ++stride) {
    EXPECT_EQ(wavefronts(4, stride, 32), std::gcd(stride, 32u)) << "stride " << stride;
  }
  // Half a warp at a time: words 2 s i and 2 s i + 1 of 16 lanes; a quarter: 8 lanes of four words.
  for (unsigned stride = 1; stride <= 64; ++stride) {
    EXPECT_EQ(wavefronts(8, stride, 32), 2 * std::gcd(stride, 16u)) << "stride " << stride;
    EXPECT_EQ(wavefronts(16, stride, 32), 4 * std::gcd(stride, 8u)) << "stride " << stride;
  }
  EXPECT_EQ(wavefronts(8, 0, 32), 2);
  EXPECT_EQ(wavefronts(16, 0, 32), 4);
  for (const unsigned lanes : {1u, 8u, 9u, 16u, 17u, 31u}) {
    EXPECT_EQ(wavefronts(4, 1, lanes), 1);
    EXPECT_EQ(wavefronts(4, 32, lanes), lanes);
    EXPECT_EQ(wavefronts(8, 1, lanes), (lanes + 15) / 16);
    EXPECT_EQ(wavefronts(16, 1, lanes), (lanes + 7) / 8);
  }
}

TEST_F(EmulatorTest, TransposesWithAndWithoutConflicts) {
  constexpr unsigned size = 64, warps = size * size / 32;
  const std::vector<float> in = numbers(size * size);
  std::vector<float> expected(in.size());
  for (unsigned y = 0; y < size; ++y) {
    for (unsigned x = 0; x < size; ++x) expected[x * size + y] = in[y * size + x];
  }
  const float* from = upload(in);
  const std::pair<kernels::Tile, unsigned> tiles[] = {
      {kernels::Tile::plain, 32}, {kernels::Tile::padded, 1}, {kernels::Tile::swizzled, 1}};
  for (const auto& [tile, ways] : tiles) {
    float* to = make<float>(in.size());
    const Counts counts = counts_of([&] { kernels::transpose(tile, to, from, size); });
    EXPECT_EQ(download(to, in.size()), expected);
    EXPECT_EQ(counts.at(Space::shared, Access::store).requests, warps);
    EXPECT_EQ(counts.at(Space::shared, Access::store).wavefronts, warps);
    EXPECT_EQ(counts.at(Space::shared, Access::load).requests, warps);
    EXPECT_EQ(counts.at(Space::shared, Access::load).wavefronts, ways * warps);
    EXPECT_EQ(counts.at(Space::global, Access::load).sectors, 4 * warps);
    EXPECT_EQ(counts.at(Space::global, Access::store).sectors, 4 * warps);
    EXPECT_EQ(counts.barriers, 4 * 8);  // four blocks of eight warps
  }
}

// --- divergence ---

TEST_F(EmulatorTest, BothSidesOfABranch) {
  const float* a = upload(numbers(32));
  const float* b = upload(numbers(32));
  for (const unsigned split : {0u, 1u, 13u, 31u, 32u}) {
    float* out = make<float>(64);
    float* other = make<float>(32);
    const Counts counts = counts_of([&] { kernels::branch(out, other, a, b, split); });
    const double sides = (split > 0) + (split < 32);
    expect_access(counts.at(Space::global, Access::load), sides, 32, 128);
    // After the branch the warp is one again.
    expect_access(counts.at(Space::global, Access::store), sides + 1, 64, 256);
    EXPECT_EQ(counts.at(Space::global, Access::load).sectors, (split + 7) / 8 + 4 - split / 8);
  }
}

TEST_F(EmulatorTest, LoopsOfLaneDependentLength) {
  const float* in = upload(numbers(32 * 32));
  float* out = make<float>(64);
  // Iteration k has the lanes above k; the store after the loop has all again.
  const Counts trips = counts_of([&] { kernels::lane_trips(out, in); });
  expect_access(trips.at(Space::global, Access::load), 31, 31 * 32 / 2, 4 * 31 * 32 / 2);
  expect_access(trips.at(Space::global, Access::store), 1, 32, 128);
  // Lanes with lane % 4 = m run 1 + ... + m inner iterations: 0, 1, 3, 6.
  const auto nested = loads_of([&] { kernels::nested_trips(out, in); });
  expect_access(nested, 6, 8 * (0 + 1 + 3 + 6), 4 * 8 * 10);
}

TEST_F(EmulatorTest, ABranchInALoopIsZippedByIteration) {
  const float* a = upload(numbers(40 * 32));
  const float* b = upload(numbers(40 * 32));
  float* out = make<float>(32);
  // Each side has half the lanes in every iteration. Counting each lane's n-th visit of a load
  // would pair iterations 2 n and 2 n + 1: half the requests, with 32 lanes each.
  const Counts counts = counts_of([&] { kernels::alternate(out, a, b, 40); });
  expect_access(counts.at(Space::global, Access::load), 2 * 40, 32 * 40, 4 * 32 * 40);
  expect_access(counts.at(Space::global, Access::store), 1, 32, 128);
  const auto skipped = loads_of([&] { kernels::skip_alternate(out, a, 40); });
  expect_access(skipped, 40, 16 * 40, 4 * 16 * 40);
}

TEST_F(EmulatorTest, LeavingALoopEarly) {
  const float* in = upload(numbers(20 * 32));
  float* out = make<float>(64);
  double lanes = 0;
  for (unsigned lane = 0; lane < 32; ++lane) lanes += lane % 7;
  const Counts counts = counts_of([&] { kernels::break_at(out, in, 20); });
  expect_access(counts.at(Space::global, Access::load), 6, lanes, 4 * lanes);
  expect_access(counts.at(Space::global, Access::store), 1, 32, 128);
  // What stands before the break is executed in five different iterations; what follows, once.
  double leave = 0, loads = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    leave += lane % 7 < 5;
    loads += std::min(lane % 7, 5u);
  }
  const Counts stored = counts_of([&] { kernels::store_and_break(out, in, 5); });
  expect_access(stored.at(Space::global, Access::load), 5, loads, 4 * loads);
  expect_access(stored.at(Space::global, Access::store), 5 + 1, leave + 32, 4 * (leave + 32));
}

TEST_F(EmulatorTest, LanesThatReturnDoNotSplitTheOthers) {
  const float* in = upload(numbers(20 * 32));
  float* out = make<float>(64);
  // Lanes with lane % 7 < 3 return inside the loop. The others leave it after 3 or 4 iterations,
  // unless a lane returns in the fourth (lane % 7 = 3 and odd), and then store together.
  double stay = 0;
  for (unsigned lane = 0; lane < 32; ++lane) stay += lane % 7 >= 3 + lane % 2;
  const Counts counts = counts_of([&] { kernels::return_early(out, in, 3); });
  expect_access(counts.at(Space::global, Access::store), 1, stay, 4 * stay);
  EXPECT_EQ(counts.at(Space::global, Access::load).requests, 4);
}

// Lanes that are in one iteration of every loop make one request; found lane by lane here.
TEST_F(EmulatorTest, RandomWalksThroughLoopsAndBranchesZipByIteration) {
  constexpr unsigned threads = 128;
  const float* in = upload(
      numbers(kernels::walk_sites * kernels::walk_trips * kernels::walk_inner_trips * threads));
  float* out = make<float>(threads);
  unsigned partial = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    // By warp, site and iterations: which lanes.
    std::map<std::array<unsigned, 4>, std::uint32_t> requests;
    for (unsigned thread = 0; thread < threads; ++thread) {
      const auto chosen = [&](unsigned what, unsigned j, unsigned k, unsigned one_in) {
        return kernels::choice(seed, what, j, k, thread, one_in);
      };
      const auto at = [&](unsigned site, unsigned j, unsigned k) {
        requests[{thread / 32, site, j, k}] |= 1u << thread % 32;
      };
      for (unsigned j = 0; j < kernels::walk_trips && !chosen(0, j, 0, 6); ++j) {
        if (chosen(1, j, 0, 2)) {
          at(0, j, 0);
          if (chosen(2, j, 0, 3)) continue;
          at(1, j, 0);
        } else {
          for (unsigned k = 0; k < kernels::walk_inner_trips; ++k) {
            if (chosen(3, j, k, 4)) continue;
            at(2, j, k);
            if (chosen(4, j, k, 5)) break;
            if (chosen(5, j, k, 2)) at(3, j, k);
          }
        }
        at(4, j, 0);
      }
    }
    double lanes = 0, sectors = 0;
    for (const auto& [key, mask] : requests) {
      lanes += std::popcount(mask);
      for (unsigned group = 0; group < 4; ++group) sectors += (mask >> 8 * group & 0xff) != 0;
      partial += mask != ~0u;
    }
    const Counts counts = counts_of([&] { kernels::walk(out, in, seed); });
    const AccessCounts& loads = counts.at(Space::global, Access::load);
    ASSERT_EQ(loads.requests, requests.size()) << "seed " << seed;
    ASSERT_EQ(loads.lanes, lanes) << "seed " << seed;
    ASSERT_EQ(loads.sectors, sectors) << "seed " << seed;
    ASSERT_EQ(counts.at(Space::global, Access::store).requests, 4) << "seed " << seed;
  }
  EXPECT_GT(partial, 50000u);
}

TEST_F(EmulatorTest, OneFunctionCalledFromTwoPlaces) {
  const float* in = upload(numbers(128));
  float* out = make<float>(32);
  const auto loads = loads_of([&] { kernels::call_from_two_places(out, in, 10); });
  expect_access(loads, 4, 64, 256);
  const std::vector<float> sums = download(out, 32);
  EXPECT_EQ(sums[9], 9 + 41);
  EXPECT_EQ(sums[10], 2 * (74 + 106));
}

// --- warps and blocks ---

TEST_F(EmulatorTest, ShufflesOfEveryKindWidthAndDistance) {
  unsigned* out = make<unsigned>(32);
  for (const int width : {1, 2, 4, 8, 16, 32}) {
    for (unsigned argument = 0; argument < 32; ++argument) {
      const int distance = static_cast<int>(argument);
      // The PTX manual's pseudocode of shfl.sync, with its masks written out.
      const std::function<int(int)> sources[] = {
          [&](int lane) { return lane / width * width + distance % width; },
          [&](int lane) { return lane % width - distance >= 0 ? lane - distance : lane; },
          [&](int lane) { return lane % width + distance < width ? lane + distance : lane; },
          [&](int lane) {
            return (lane ^ distance) <= (lane | (width - 1)) ? lane ^ distance : lane;
          }};
      for (int how = 0; how < 4; ++how) {
        const Counts counts = counts_of(
            [&] { kernels::exchange(static_cast<kernels::Exchange>(how), out, argument, width); });
        ASSERT_EQ(counts.at(WarpOperation::shuffle), 1);
        const std::vector<unsigned> values = download(out, 32);
        for (int lane = 0; lane < 32; ++lane) {
          ASSERT_EQ(values[static_cast<std::size_t>(lane)], 100 + sources[how](lane))
              << "kind " << how << ", width " << width << ", argument " << argument;
        }
      }
    }
  }
}

TEST_F(EmulatorTest, ShufflesOfEightBytes) {
  double* out = make<double>(32);
  counts_of([&] { kernels::exchange_wide(out); });
  const std::vector<double> values = download(out, 32);
  for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(values[lane], std::min(lane + 1, 31u) + .25);
}

TEST_F(EmulatorTest, Votes) {
  unsigned* out = make<unsigned>(96);
  const Counts counts = counts_of([&] { kernels::votes(out); });
  EXPECT_EQ(counts.at(WarpOperation::vote), 4);
  EXPECT_EQ(counts.at(WarpOperation::warp_barrier), 1);
  const std::vector<unsigned> values = download(out, 96);
  for (unsigned lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(values[lane], 0x1fu);
    EXPECT_EQ(values[32 + lane], 1u);  // not any, but all
    EXPECT_EQ(values[64 + lane], lane < 8 ? 0x1fu : ~0u);
  }
}

TEST_F(EmulatorTest, BlockReduction) {
  constexpr unsigned blocks = 5, elements = 3000;
  const float* in = upload(std::vector<float>(elements, 1));
  float* out = make<float>(blocks);
  const Counts counts = counts_of([&] { kernels::reduce_blocks(out, in, elements, blocks); });
  // 3000 = 2 * 1280 + 440: block 0 has three full rounds, block 1 184 elements of the third.
  EXPECT_EQ(download(out, blocks), (std::vector<float>{768, 696, 512, 512, 512}));
  EXPECT_EQ(counts.barriers, blocks * 8 * 8);
  // Of eight warps, 4, 2, 1 and then one with 16, 8, 4, 2, 1 lanes take part in each halving.
  const AccessCounts& loads = counts.at(Space::shared, Access::load);
  EXPECT_EQ(loads.requests, blocks * (2 * (4 + 2 + 1 + 5) + 1));
  EXPECT_EQ(loads.lanes, blocks * (2 * 255 + 1));
  EXPECT_EQ(loads.wavefronts, loads.requests);
  EXPECT_EQ(counts.at(Space::global, Access::load).lanes, elements);
}

TEST_F(EmulatorTest, ReductionByShuffles) {
  const std::vector<float> in = numbers(4 * 256);
  const float* from = upload(in);
  float* out = make<float>(4);
  const Counts counts = counts_of([&] { kernels::reduce_by_warps(out, from, 4); });
  for (unsigned block = 0; block < 4; ++block) {
    EXPECT_EQ(download(out, 4)[block], 256 * (256 * block) + 255 * 128);
  }
  EXPECT_EQ(counts.at(WarpOperation::shuffle), 4 * 8 * 5);
  EXPECT_EQ(counts.barriers, 4 * 8);
  // One lane of each warp stores, one lane of a block loads.
  expect_access(counts.at(Space::shared, Access::store), 4 * 8, 4 * 8, 4 * 8 * 4);
  expect_access(counts.at(Space::shared, Access::load), 4 * 8, 4 * 8, 4 * 8 * 4);
}

TEST_F(EmulatorTest, AtomicsOfSeveralBlocks) {
  constexpr unsigned blocks = 100;
  std::vector<unsigned> values(blocks * 256);
  std::vector<unsigned> expected(64);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<unsigned>(i * i % 64);
    ++expected[values[i]];
  }
  const unsigned* in = upload(values);
  unsigned* bins = upload(std::vector<unsigned>(64, 0));
  const Counts counts = counts_of([&] { kernels::histogram(bins, in, blocks); });
  EXPECT_EQ(download(bins, 64), expected);
  expect_access(counts.at(Space::shared, Access::atomic), blocks * 8, blocks * 256, blocks * 1024);
  expect_access(counts.at(Space::global, Access::atomic), blocks * 2, blocks * 64, blocks * 256);
  EXPECT_EQ(counts.at(Space::global, Access::atomic).sectors, blocks * 8);
}

TEST_F(EmulatorTest, AtomicsOfEveryType) {
  float* a = upload(std::vector<float>{0});
  double* b = upload(std::vector<double>{0});
  int* c = upload(std::vector<int>{0});
  unsigned long long* d = upload(std::vector<unsigned long long>{0});
  const Counts counts = counts_of([&] { kernels::add_atomically(a, b, c, d, 50); });
  EXPECT_EQ(download(a, 1)[0], 3200);
  EXPECT_EQ(download(b, 1)[0], 1600);
  EXPECT_EQ(download(c, 1)[0], 3200);
  EXPECT_EQ(download(d, 1)[0], 9600);
  expect_access(counts.at(Space::global, Access::atomic), 50 * 2 * 4, 3200 * 4, 3200 * 24);
}

TEST_F(EmulatorTest, FusedMultiplyAddsAreCountedByLane) {
  float* out = make<float>(40);
  double* wide = make<double>(40);
  const Counts counts = counts_of([&] { kernels::fused(out, wide, 10, 40); });
  EXPECT_EQ(counts.fma_fp32, 40 * 11);
  EXPECT_EQ(counts.fma_fp64, 40 * 20);
  EXPECT_EQ(download(out, 40)[39], 2 - 1.0f / 1024);
}

TEST_F(EmulatorTest, ChainsOfMultiplyAddsAreToldApart) {
  float* out = make<float>(70);
  for (const unsigned chains : {1u, 2u, 5u, 8u}) {
    counts_of([&] { kernels::chains(out, chains, 100, 70); });  // three warps
    const KernelProfile& profile = emulator.runs()[0].profile;
    EXPECT_NEAR(profile.waits.fma_chain, 100, 3) << chains;  // values may meet by chance
    EXPECT_EQ(profile.waits.fma_steps, 100 * chains) << chains;
    EXPECT_EQ(profile.counts.issues(Arithmetic::fma_fp32), 3 * 100 * chains);
  }
}

TEST_F(EmulatorTest, LanesThatEndedAreNotWaitedFor) {
  unsigned* out = upload(std::vector<unsigned>(64, 0));
  const Counts counts = counts_of([&] { kernels::return_before_barrier(out); });
  EXPECT_EQ(counts.barriers, 2);  // both warps have a lane that waits
  const std::vector<unsigned> values = download(out, 64);
  EXPECT_EQ(std::count(values.begin(), values.end(), 1u), 40);
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

}  // namespace
}  // namespace gpubench::model
