#include "harness/platform/model/memory/memory.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

namespace gpubench::model {
namespace {

constexpr std::size_t page = DeviceMemory::page_bytes;
constexpr std::size_t gibibyte = std::size_t{1} << 30;

// Byte i holds i modulo 251, a prime: no page is like its neighbour.
void count_up(std::byte* destination, std::size_t offset, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) destination[i] = std::byte((offset + i) % 251);
}

std::byte* make(DeviceMemory& memory, std::size_t bytes) {
  return static_cast<std::byte*>(memory.allocate(bytes));
}

std::byte byte_at(const DeviceMemory& memory, const std::byte* device) {
  std::byte value{};
  memory.read(&value, device, 1);
  return value;
}

TEST(DeviceMemory, NewMemoryIsNotANumber) {
  DeviceMemory memory(gibibyte);
  const void* device = memory.allocate(100);
  float single = 0;
  double twice = 0;
  memory.read(&single, device, sizeof single);
  memory.read(&twice, device, sizeof twice);
  EXPECT_TRUE(std::isnan(single));
  EXPECT_TRUE(std::isnan(twice));
}

TEST(DeviceMemory, BeginsAtAMultipleOfATebibyte) {
  // So that what depends on addresses is the same in every run; a second one is elsewhere.
  DeviceMemory one(gibibyte), another(gibibyte);
  for (DeviceMemory* memory : {&one, &another}) {
    const auto first = reinterpret_cast<std::uintptr_t>(memory->allocate(1));
    EXPECT_LT(first % (std::size_t{1} << 40), gibibyte);
  }
}

TEST(DeviceMemory, WritesReadBackAcrossPages) {
  DeviceMemory memory(gibibyte);
  std::byte* device = make(memory, 10 * page);
  std::vector<std::byte> in(3 * page), out(5 * page);
  count_up(in.data(), 7, in.size());
  memory.write(device + page / 2, in.data(), in.size());
  memory.read(out.data(), device, out.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool written = i >= page / 2 && i < page / 2 + in.size();
    ASSERT_EQ(out[i], written ? in[i - page / 2] : std::byte{0xFF}) << i;
  }
}

TEST(DeviceMemory, FillIsCarriedOutWherePagesAreTouched) {
  DeviceMemory memory(16 * gibibyte);
  std::byte* device = make(memory, 8 * gibibyte);
  std::size_t filled = 0;
  memory.fill(device, [&](std::byte* destination, std::size_t offset, std::size_t bytes) {
    filled += bytes;
    count_up(destination, offset, bytes);
  });
  EXPECT_EQ(filled, 0u);
  const std::size_t far = 5 * gibibyte + 12345;
  EXPECT_EQ(byte_at(memory, device + far), std::byte(far % 251));
  EXPECT_EQ(filled, page);
  EXPECT_EQ(byte_at(memory, device + far + 1), std::byte((far + 1) % 251));
  EXPECT_EQ(filled, page);
}

TEST(DeviceMemory, FillOfTheLastPageEndsWithTheAllocation) {
  DeviceMemory memory(gibibyte);
  std::byte* device = make(memory, page + 10);
  std::size_t end = 0;
  memory.fill(device, [&](std::byte* destination, std::size_t offset, std::size_t bytes) {
    end = std::max(end, offset + bytes);
    count_up(destination, offset, bytes);
  });
  EXPECT_EQ(byte_at(memory, device + page + 9), std::byte((page + 9) % 251));
  EXPECT_EQ(end, page + 10);
}

TEST(DeviceMemory, AFillReplacesWhatWasWritten) {
  DeviceMemory memory(gibibyte);
  std::byte* device = make(memory, 4 * page);
  const std::byte one{1};
  memory.write(device + page, &one, 1);
  const std::uint64_t before = memory.find(device)->content_version;
  memory.fill(device, count_up);
  EXPECT_EQ(byte_at(memory, device + page), std::byte(page % 251));
  EXPECT_NE(memory.find(device)->content_version, before);
  EXPECT_THROW(memory.fill(device + 1, count_up), std::out_of_range);
}

TEST(DeviceMemory, ASetOverAllIsRememberedAndOverAPartCarriedOut) {
  DeviceMemory memory(16 * gibibyte);
  std::byte* device = make(memory, 8 * gibibyte);
  memory.set(device, 0, 8 * gibibyte);
  EXPECT_TRUE(memory.present_ranges(device, 8 * gibibyte).empty());
  memory.set(device + 100, 7, page);
  EXPECT_EQ(byte_at(memory, device + 99), std::byte{0});
  EXPECT_EQ(byte_at(memory, device + 100), std::byte{7});
  EXPECT_EQ(byte_at(memory, device + 99 + page), std::byte{7});
  EXPECT_EQ(byte_at(memory, device + 100 + page), std::byte{0});
}

TEST(DeviceMemory, PresentRangesAreMergedAndClipped) {
  DeviceMemory memory(gibibyte);
  std::byte* device = make(memory, 1000 * page);
  for (const std::size_t touched : {3, 4, 5, 63, 64, 65, 700}) {
    byte_at(memory, device + touched * page + 17);
  }
  using Ranges = std::vector<std::pair<std::byte*, std::size_t>>;
  EXPECT_EQ(memory.present_ranges(device, 1000 * page), (Ranges{{device + 3 * page, 3 * page},
                                                                {device + 63 * page, 3 * page},
                                                                {device + 700 * page, page}}));
  EXPECT_EQ(memory.present_ranges(device + 4 * page + 5, 60 * page),
            (Ranges{{device + 4 * page + 5, 2 * page - 5}, {device + 63 * page, page + 5}}));
  EXPECT_TRUE(memory.present_ranges(device + 6 * page, 57 * page).empty());
  EXPECT_TRUE(memory.present_ranges(device, 0).empty());
}

TEST(DeviceMemory, PresentRangesEndWithTheAllocation) {
  DeviceMemory memory(gibibyte);
  std::byte* device = make(memory, page + 10);
  byte_at(memory, device + page);
  const auto ranges = memory.present_ranges(device, page + 10);
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0], std::pair(device + page, std::size_t{10}));
}

TEST(DeviceMemory, Capacity) {
  DeviceMemory memory(10 * page);
  EXPECT_EQ(memory.capacity(), 10 * page);
  void* six = memory.allocate(6 * page);
  ASSERT_NE(six, nullptr);
  EXPECT_EQ(memory.free_bytes(), 4 * page);
  EXPECT_EQ(memory.allocate(5 * page), nullptr);
  EXPECT_EQ(memory.allocate(~std::size_t{0}), nullptr);
  EXPECT_EQ(memory.allocate(~std::size_t{0} / 2), nullptr);
  void* one = memory.allocate(1);  // takes a page
  EXPECT_EQ(memory.free_bytes(), 3 * page);
  EXPECT_TRUE(memory.release(six));
  EXPECT_TRUE(memory.release(one));
  EXPECT_EQ(memory.free_bytes(), 10 * page);
  EXPECT_NE(memory.allocate(10 * page), nullptr);
}

TEST(DeviceMemory, GapsLieBetweenAllocations) {
  DeviceMemory memory(gibibyte);
  std::vector<std::byte*> all;
  for (int i = 0; i < 20; ++i) all.push_back(make(memory, 100 + 1000 * i));
  for (int i = 0; i < 20; ++i) {
    const std::size_t bytes = 100 + 1000 * i;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(all[i]) % page, 0u);
    EXPECT_EQ(memory.find(all[i])->begin, all[i]);
    EXPECT_EQ(memory.find(all[i] + bytes - 1)->begin, all[i]);
    EXPECT_EQ(memory.find(all[i] + bytes), nullptr);
    EXPECT_EQ(memory.find(all[i] + bytes + allocation_gap_bytes - page), nullptr);
    EXPECT_EQ(memory.find(all[i] - 1), nullptr);
    EXPECT_EQ(memory.preceding(all[i] + bytes)->begin, all[i]);
    EXPECT_TRUE(memory.in_range(all[i] + bytes));
  }
  EXPECT_FALSE(memory.in_range(&all));
  EXPECT_EQ(memory.preceding(nullptr), nullptr);
}

TEST(DeviceMemory, ReleasedMemoryIsGoneAndReusedFresh) {
  DeviceMemory memory(gibibyte);
  std::byte* first = make(memory, page);
  const std::byte one{1};
  memory.write(first, &one, 1);
  const std::uint64_t identity = memory.find(first)->identity;
  EXPECT_FALSE(memory.release(first + 1));
  EXPECT_TRUE(memory.release(first));
  EXPECT_FALSE(memory.release(first));
  EXPECT_EQ(memory.find(first), nullptr);
  EXPECT_THROW(byte_at(memory, first), std::out_of_range);
  std::byte* second = make(memory, page);
  EXPECT_EQ(second, first);
  EXPECT_NE(memory.find(second)->identity, identity);
  EXPECT_EQ(byte_at(memory, second), std::byte{0xFF});
}

TEST(DeviceMemory, NeighboursThatAreReleasedMakeOneRange) {
  constexpr std::size_t bytes = 1 << 20;
  for (std::array order{0, 1, 2}; std::ranges::next_permutation(order).found;) {
    DeviceMemory memory(8 * bytes);
    std::array<void*, 3> three{};
    for (void*& one : three) one = memory.allocate(bytes);
    void* const last = memory.allocate(bytes);
    for (const int i : order) EXPECT_TRUE(memory.release(three[static_cast<std::size_t>(i)]));
    EXPECT_EQ(memory.allocate(3 * bytes), three[0]);
    EXPECT_NE(last, nullptr);
  }
}

TEST(DeviceMemory, AddressSpaceDoesNotRunOut) {
  DeviceMemory memory(gibibyte);
  for (int i = 0; i < 1000; ++i) {
    void* device = memory.allocate(gibibyte);
    ASSERT_NE(device, nullptr) << i;
    memory.release(device);
  }
}

TEST(DeviceMemory, CopiesMayOverlapAndMustStayInside) {
  DeviceMemory memory(gibibyte);
  std::byte* device = make(memory, 2 * page);
  memory.fill(device, count_up);
  memory.copy(device + 10, device, page);
  EXPECT_EQ(byte_at(memory, device + 10 + 100), std::byte{100});
  EXPECT_EQ(byte_at(memory, device + 10 + page), std::byte((10 + page) % 251));
  std::vector<std::byte> host(4 * page);
  EXPECT_THROW(memory.read(host.data(), device + 1, 2 * page), std::out_of_range);
  EXPECT_THROW(memory.write(device + page, host.data(), page + 1), std::out_of_range);
  EXPECT_THROW(memory.copy(device + page + 1, device, page), std::out_of_range);
  EXPECT_THROW(memory.set(host.data(), 0, 1), std::out_of_range);
}

TEST(DeviceMemory, TwoThreadsFillEveryPageOnce) {
  DeviceMemory memory(gibibyte);
  constexpr std::size_t pages = 2000;
  std::byte* device = make(memory, pages * page);
  std::atomic<std::size_t> fills{0};
  memory.fill(device, [&](std::byte* destination, std::size_t offset, std::size_t bytes) {
    ++fills;
    count_up(destination, offset, bytes);
  });
  Allocation& allocation = *memory.find(device);
  std::atomic<std::size_t> wrong{0};
  const auto read_all = [&] {
    for (std::size_t i = 0; i < pages; ++i) {
      const std::byte* address = device + i * page + i;
      DeviceMemory::touch(allocation, address, 1);
      wrong += *address != std::byte((i * page + i) % 251);
    }
  };
  {
    std::jthread other(read_all);
    read_all();
  }
  EXPECT_EQ(fills, pages);
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace gpubench::model
