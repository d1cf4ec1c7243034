// Sectors, lines and wavefronts of random requests, against counts made from the definitions.
#include "harness/platform/model/emulator/counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>

#include "harness/platform/model/emulator/explain.hpp"

namespace gpubench::model {
namespace {

constexpr std::array<unsigned, 5> widths{1, 2, 4, 8, 16};

WarpRequest request_of(unsigned bytes, std::uint32_t lanes) {
  WarpRequest request{};
  request.event = make_event(nullptr, EventKind::load, bytes);
  request.lanes = lanes;
  return request;
}

// Addresses as kernels make them: strided, within a small window, anywhere, mostly the same.
WarpRequest random_request(std::mt19937& random, unsigned bytes) {
  const auto below = [&](std::uint64_t n) { return random() % n; };
  WarpRequest request = request_of(bytes, 0);
  const unsigned how_many = static_cast<unsigned>(below(4));
  request.lanes = how_many == 0 ? ~0u : how_many == 1 ? 1u << below(32) : random() | 1u;
  const std::uint64_t base = 0x7f0000000000u + below(1 << 20) * 16;
  const std::uint64_t stride = below(70), window = std::uint64_t{1} << below(12);
  const unsigned kind = static_cast<unsigned>(below(4));
  for (unsigned lane = 0; lane < 32; ++lane) {
    const std::uint64_t element = kind == 0   ? lane * stride
                                  : kind == 1 ? below(window)
                                  : kind == 2 ? below(1u << 30)
                                              : below(8) == 0;
    request.address[lane] = base + element * bytes;
  }
  return request;
}

std::set<std::uint64_t> pieces(const WarpRequest& request, std::uint64_t piece_bytes) {
  std::set<std::uint64_t> touched;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((request.lanes >> lane & 1) == 0) continue;
    for (unsigned byte = 0; byte < bytes_of(request.event); ++byte) {
      touched.insert((request.address[lane] + byte) / piece_bytes);
    }
  }
  return touched;
}

// Each pass: the words asked for by its lanes, by bank; the bank with the most decides.
unsigned passes(const WarpRequest& request) {
  const unsigned bytes = bytes_of(request.event);
  const unsigned groups = bytes == 16 ? 4 : bytes == 8 ? 2 : 1;
  unsigned total = 0;
  for (unsigned group = 0; group < groups; ++group) {
    std::map<std::uint64_t, std::set<std::uint64_t>> words_by_bank;
    for (unsigned lane = 32 / groups * group; lane < 32 / groups * (group + 1); ++lane) {
      if ((request.lanes >> lane & 1) == 0) continue;
      for (unsigned byte = 0; byte < bytes; ++byte) {
        const std::uint64_t word = (request.address[lane] + byte) / 4;
        words_by_bank[word % 32].insert(word);
      }
    }
    std::size_t most = 0;
    for (const auto& [bank, words] : words_by_bank) most = std::max(most, words.size());
    total += static_cast<unsigned>(most);
  }
  return total;
}

TEST(Counts, RandomRequestsMatchTheDefinition) {
  std::mt19937 random(42);
  for (const unsigned bytes : widths) {
    for (int i = 0; i < 10000; ++i) {
      const WarpRequest request = random_request(random, bytes);
      const Sectors sectors = sectors_of(request);
      const std::set<std::uint64_t> expected = pieces(request, 32);
      ASSERT_EQ(std::set<std::uint64_t>(sectors.id.begin(), sectors.id.begin() + sectors.count),
                expected);
      ASSERT_EQ(sectors.count, expected.size());
      ASSERT_TRUE(std::is_sorted(sectors.id.begin(), sectors.id.begin() + sectors.count));
      ASSERT_EQ(sectors.lines, pieces(request, 128).size());
      ASSERT_EQ(wavefronts_of(request), passes(request)) << bytes << "-byte accesses";
      ASSERT_LE(ideal_wavefronts_of(request), wavefronts_of(request));
    }
  }
}

TEST(Counts, WavefrontsServeEveryLaneOnceAndABankOneWord) {
  std::mt19937 random(43);
  for (const unsigned bytes : widths) {
    for (int i = 0; i < 2000; ++i) {
      const WarpRequest request = random_request(random, bytes);
      const std::uint64_t begin = 0x7f0000000000u + 4 * (random() % 64);
      const auto table = wavefront_table(request, begin);
      ASSERT_EQ(table.size(), wavefronts_of(request)) << bytes << "-byte accesses";
      // The words that the cells stand for are those that the lanes ask for.
      std::set<std::uint64_t> served, asked;
      for (unsigned lane = 0; lane < 32; ++lane) {
        for (unsigned byte = 0; (request.lanes >> lane & 1) != 0 && byte < bytes; ++byte) {
          asked.insert((request.address[lane] + byte) / 4);
        }
      }
      for (const auto& wavefront : table) {
        for (unsigned bank = 0; bank < 32; ++bank) {
          if (wavefront[bank] < 0) continue;
          const auto lane = static_cast<unsigned>(wavefront[bank]);
          ASSERT_NE(request.lanes >> lane & 1, 0u);
          for (std::uint64_t word = request.address[lane] / 4;
               word <= (request.address[lane] + bytes - 1) / 4; ++word) {
            if ((word - begin / 4) % 32 == bank) served.insert(word);
          }
        }
      }
      ASSERT_EQ(served, asked);
      ASSERT_LE(ideal_sectors_of(request), sectors_of(request).count);
      ASSERT_EQ(ideal_sectors_of(request), (pieces(request, 1).size() + 31) / 32);
    }
  }
}

// Every lane reads `bytes` bytes at its number, shifted right by `shift`, times that.
WarpRequest by_groups(unsigned bytes, unsigned shift) {
  WarpRequest request = request_of(bytes, ~0u);
  for (unsigned lane = 0; lane < 32; ++lane) request.address[lane] = (lane >> shift) * bytes;
  return request;
}

TEST(Counts, WideLoadsOfWhatNeighboursShareReturnPacked) {
  for (const unsigned bytes : {8u, 16u}) {
    EXPECT_EQ(packed_wavefronts_of(by_groups(bytes, 0)), 0u) << "each lane its own";
    for (const unsigned shift : {1u, 3u, 5u}) {
      EXPECT_EQ(wavefronts_of(by_groups(bytes, shift)), bytes / 4);
      EXPECT_EQ(packed_wavefronts_of(by_groups(bytes, shift)), bytes / 8) << shift;
    }
    WarpRequest two_apart = by_groups(bytes, 0);
    for (unsigned lane = 0; lane < 32; ++lane)
      two_apart.address[lane] = (lane / 4 * 2 + lane % 2) * bytes;
    EXPECT_EQ(packed_wavefronts_of(two_apart), bytes / 8);
    two_apart.address[7] += 4096;
    EXPECT_EQ(packed_wavefronts_of(two_apart), 0u) << "one pair that differs";
    two_apart.lanes &= ~(1u << 7);
    EXPECT_EQ(packed_wavefronts_of(two_apart), bytes / 8) << "its lane is not active";
  }
  EXPECT_EQ(packed_wavefronts_of(by_groups(4, 5)), 0u) << "a word for all is one pass anyway";
}

TEST(Counts, ARequestOfOneLane) {
  for (const unsigned bytes : widths) {
    WarpRequest request = request_of(bytes, 1u << 17);
    request.address[17] = 0x1000;
    EXPECT_EQ(sectors_of(request).count, 1u);
    EXPECT_EQ(sectors_of(request).lines, 1u);
    EXPECT_EQ(wavefronts_of(request), 1u);
    EXPECT_EQ(ideal_wavefronts_of(request), 1u);
  }
}

TEST(Counts, SmallElementsShareABanksWord) {
  for (const unsigned bytes : {1u, 2u}) {
    WarpRequest request = request_of(bytes, ~0u);
    for (unsigned lane = 0; lane < 32; ++lane) request.address[lane] = 0x1000 + lane * bytes;
    EXPECT_EQ(wavefronts_of(request), 1u);
    EXPECT_EQ(sectors_of(request).count, bytes);
  }
}

TEST(Counts, ScaledAndSummed) {
  Counts a;
  a.at(Space::shared, Access::store) = {1, 2, 3, 4, 5, 6, 7, 8};
  a.barriers = 8;
  a.add(Arithmetic::fma_fp32, 3, 32);
  a.add(Arithmetic::mad_int32, 2, 16);
  a.special = 10;
  a.bulk_loads.sectors = 11;
  a.bulk_stores = 13;
  a.at(WarpOperation::vote) = 11;
  a.async_loads = 12;
  Counts sum = a.scaled(2);
  sum += a;
  const AccessCounts& stores = sum.at(Space::shared, Access::store);
  EXPECT_EQ(stores.requests, 3);
  EXPECT_EQ(stores.lanes, 6);
  EXPECT_EQ(stores.bytes, 9);
  EXPECT_EQ(stores.sectors, 12);
  EXPECT_EQ(stores.lines, 15);
  EXPECT_EQ(stores.tag_wavefronts, 18);
  EXPECT_EQ(stores.wavefronts, 21);
  EXPECT_EQ(stores.ideal_wavefronts, 24);
  EXPECT_EQ(sum.at(Space::global, Access::store).requests, 0);
  EXPECT_EQ(sum.barriers, 24);
  EXPECT_EQ(sum.issues(Arithmetic::fma_fp32), 9);
  EXPECT_EQ(sum.fma_fp32, 9 * 32);
  EXPECT_EQ(sum.mad_int32, 6 * 16);
  EXPECT_EQ(sum.arithmetic_lanes(), 9 * 32 + 6 * 16);
  EXPECT_EQ(sum.special, 30);
  EXPECT_EQ(sum.bulk_loads.sectors, 33);
  EXPECT_EQ(sum.bulk_stores, 39);
  EXPECT_EQ(sum.at(WarpOperation::vote), 33);
  EXPECT_EQ(sum.async_loads, 36);
}

}  // namespace
}  // namespace gpubench::model
