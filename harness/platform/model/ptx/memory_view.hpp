// What a warp's addresses point to, checked: bounds, alignment, and who has written there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/platform/model/emulator/block_result.hpp"
#include "harness/platform/model/launch/executor.hpp"
#include "harness/platform/model/memory/memory.hpp"
#include "harness/platform/model/ptx/program.hpp"
#include "harness/platform/model/ptx/warp.hpp"

namespace gpubench::model::ptx {

using Addresses = std::array<std::uint64_t, lanes>;

// Lane i's bytes begin at base + address[i] + i * lane_stride.
struct View {
  std::byte* base = nullptr;
  std::size_t lane_stride = 0;
  std::byte* at(std::uint64_t address, unsigned lane) const {
    return base + address + lane * lane_stride;
  }
};

class BlockMemory {
 public:
  BlockMemory(DeviceMemory& device, const MappedHost& is_mapped_host)
      : device_(device), is_mapped_host_(is_mapped_host) {}

  void begin(const Program& program, const KernelLaunch& launch, unsigned warps);

  // For addresses in one space other than generic. Throws Fault. `host`: the lanes that found the
  // host's memory.
  View view(Space space, Mask mask, const Addresses& addresses, unsigned bytes, bool writes,
            unsigned warp, Mask* host = nullptr);
  // What a lane's multicast address reaches, in the order of the devices.
  std::vector<std::byte*> multicast_places(unsigned lane, std::uint64_t address, unsigned bytes);
  // As view(), for a piece of global or shared memory as a whole.
  const std::byte* global_piece(std::uint64_t address, std::size_t bytes);
  std::byte* shared_piece(std::uint64_t address, std::size_t bytes, std::size_t alignment);
  void note_written(std::uint64_t shared_address, std::size_t bytes) {
    std::fill_n(written_.begin() + static_cast<std::ptrdiff_t>(shared_address), bytes, 1);
  }

  std::vector<std::byte>& parameters() { return parameters_; }
  std::uint64_t shared_begin() const { return shared_begin_; }
  std::uint64_t shared_end() const { return shared_end_; }
  std::uint64_t dynamic_begin() const { return dynamic_begin_; }
  // "64 bytes into an allocation of 1024 bytes"
  std::string describe(std::uint64_t address) const;
  // What an address of device memory belongs to, and where that begins.
  std::pair<std::string, std::uint64_t> home_of(std::uint64_t address) const;

  // Objects in shared memory that ordinary stores must leave alone.
  std::vector<std::uint64_t> guarded;

 private:
  void check_global(Mask mask, const Addresses& addresses, unsigned bytes, bool writes, Mask* host);
  void check_global_lane(unsigned lane, std::uint64_t address, unsigned bytes, Mask* host);
  void check_shared(Mask mask, const Addresses& addresses, unsigned bytes, bool writes);
  void check_written(Mask mask, const Addresses& addresses, unsigned bytes, bool writes);
  Allocation* allocation(std::uint64_t address, std::size_t bytes);

  DeviceMemory& device_;
  const MappedHost& is_mapped_host_;
  std::array<Allocation*, 4> recent_{};
  unsigned next_recent_ = 0;
  int kernels_device_ = 0;
  struct alignas(1024) Page {
    std::byte bytes[1024];
  };
  std::vector<Page> shared_;
  std::vector<std::uint8_t> written_;  // a byte each of shared memory
  std::vector<std::byte> local_;
  std::size_t local_bytes_ = 0;
  std::vector<std::byte> parameters_, module_data_;
  std::uint64_t shared_begin_ = 0, shared_end_ = 0, dynamic_begin_ = 0;
};

}  // namespace gpubench::model::ptx
