// Kernels whose every count follows from arithmetic, run through the model's CUDA runtime: results
// and memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/model/emulator_fixture.hpp"
#include "tests/model/emulator_kernels.hpp"

namespace gpubench::model {
namespace {

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

TEST_F(EmulatorTest, SectorsReadAloneAndWrittenInPart) {
  float* x = make<float>(32 * 16);
  float* y = make<float>(32 * 16);
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  const auto alone_and_in_part = [&](unsigned stride) {
    counts_of([&] { kernels::add_one(y, x, stride); });
    const std::vector<FootprintSums>& both = emulator.runs().back().profile.footprints;
    return Pair(both.front().read_alone, both.back().write_requests_in_part);
  };
  EXPECT_EQ(alone_and_in_part(1), Pair(0, 0));
  EXPECT_EQ(alone_and_in_part(2), Pair(0, 8));
  EXPECT_EQ(alone_and_in_part(8), Pair(0, 32)) << "each beside its other half";
  EXPECT_EQ(alone_and_in_part(16), Pair(32, 32));
}

TEST_F(EmulatorTest, SectorsWrittenInPartAreCompleteOnceRead) {
  float* x = make<float>(32 * 8);
  float* y = make<float>(32 * 8);
  const auto complete = [&](float* out, unsigned stride) {
    counts_of([&] { kernels::add_one(out, x, stride); });
    const FootprintSums& written = emulator.runs().back().profile.footprints.back();
    EXPECT_EQ(written.write_distinct, 4 * stride);
    return written.write_complete;
  };
  EXPECT_EQ(complete(y, 1), 4u) << "all bytes are written";
  EXPECT_EQ(complete(y, 2), 0u);
  EXPECT_EQ(complete(y, 8), 0u);
  EXPECT_EQ(complete(x, 2), 8u) << "in place: the kernel has loaded them itself";
  EXPECT_EQ(complete(x, 8), 32u);
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
    const std::size_t row_words = tile == kernels::Tile::padded ? 33 : 32;
    EXPECT_EQ(emulator.runs().back().profile.shared_bytes, 32 * row_words * sizeof(float));
  }
}

}  // namespace
}  // namespace gpubench::model
