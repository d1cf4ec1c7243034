#include "harness/platform/model/ptx/memory_view.hpp"

#include <algorithm>
#include <bit>

namespace gpubench::model::ptx {
namespace {

[[noreturn]] void misaligned(Mask mask, const Addresses& addresses, unsigned bytes,
                             const char* what) {
  Mask wrong = 0;
  for_lanes(mask, [&](unsigned i) {
    if (addresses[i] % bytes != 0) wrong |= Mask{1} << i;
  });
  throw Fault{"misaligned access of " + std::to_string(bytes) + " bytes to " + what, wrong, true};
}

}  // namespace

void BlockMemory::begin(const Program& program, const KernelLaunch& launch, unsigned warps) {
  shared_begin_ = program.shared_base;
  dynamic_begin_ = shared_begin_ + (program.static_shared_bytes + 15) / 16 * 16;
  shared_end_ = launch.shared_bytes == 0 ? shared_begin_ + program.static_shared_bytes
                                         : dynamic_begin_ + launch.shared_bytes;
  shared_.resize((shared_end_ + sizeof(Page) - 1) / sizeof(Page) + 1);
  std::memset(static_cast<void*>(shared_.data()), 0xFF, shared_.size() * sizeof(Page));
  written_.assign(shared_.size() * sizeof(Page), 0);
  local_bytes_ = program.local_bytes;
  module_data_ = program.module_data;
  local_.assign(local_bytes_ * lanes * warps, std::byte{0xFF});
  guarded.clear();
  recent_ = {};
  kernels_device_ = launch.device;
}

Allocation* BlockMemory::allocation(std::uint64_t address, std::size_t bytes) {
  const auto* p = reinterpret_cast<const std::byte*>(address);
  for (Allocation* a : recent_) {
    if (a != nullptr && a->contains(p, bytes)) return a;
  }
  if (!device_.in_range(p)) return nullptr;
  Allocation* const found = device_.find(p);
  if (found == nullptr || !found->contains(p, bytes)) return nullptr;
  if (!found->why_not(kernels_device_).empty()) return nullptr;
  return recent_[next_recent_++ % recent_.size()] = found;
}

void BlockMemory::check_global_lane(unsigned lane, std::uint64_t address, unsigned bytes,
                                    Mask* host) {
  if (Allocation* const a = allocation(address, bytes)) {
    DeviceMemory::touch(*a, reinterpret_cast<const void*>(address), bytes);
    return;
  }
  const Mask me = Mask{1} << lane;
  if (is_mapped_host_ && is_mapped_host_(reinterpret_cast<const void*>(address), bytes)) {
    if (host != nullptr) *host |= me;
    return;
  }
  const auto* p = reinterpret_cast<const std::byte*>(address);
  const Allocation* const found = device_.in_range(p) ? device_.find(p) : nullptr;
  const std::string forbidden = found == nullptr ? "" : found->why_not(kernels_device_);
  const std::string what = "access of " + std::to_string(bytes) + " bytes";
  throw Fault{what + (forbidden.empty() ? " out of bounds: " + describe(address) : forbidden), me,
              true};
}

void BlockMemory::check_global(Mask mask, const Addresses& addresses, unsigned bytes,
                               bool /*writes*/, Mask* host) {
  std::uint64_t low = ~std::uint64_t{0}, high = 0, bits = 0;
  for_lanes(mask, [&](unsigned i) {
    low = std::min(low, addresses[i]);
    high = std::max(high, addresses[i]);
    bits |= addresses[i];
  });
  if (bits % bytes != 0) misaligned(mask, addresses, bytes, "global memory");
  constexpr std::uint64_t together = 4 * DeviceMemory::page_bytes;
  if (high - low < together) {
    if (Allocation* const a = allocation(low, high - low + bytes)) {
      const auto* p = reinterpret_cast<const std::byte*>(low);
      const std::size_t span = high - low + bytes;
      if (!DeviceMemory::is_present(*a, p) || span > 1) DeviceMemory::touch(*a, p, span);
      return;
    }
  }
  for_lanes(mask, [&](unsigned i) { check_global_lane(i, addresses[i], bytes, host); });
}

void BlockMemory::check_written(Mask mask, const Addresses& addresses, unsigned bytes,
                                bool writes) {
  const auto each_word = [&]<class Word>(Word ones) {
    Mask unwritten = 0;
    for_lanes(mask, [&](unsigned i) {
      Word word;
      std::uint8_t* const at = &written_[addresses[i]];
      for (unsigned done = 0; done < bytes; done += sizeof(Word)) {
        if (writes) {
          std::memcpy(at + done, &ones, sizeof ones);
        } else {
          std::memcpy(&word, at + done, sizeof word);
          if (word != ones) unwritten |= Mask{1} << i;
        }
      }
    });
    if (unwritten != 0) throw Fault{"read of shared memory that nobody has written", unwritten};
  };
  switch (bytes) {
    case 1:
      return each_word(std::uint8_t{1});
    case 2:
      return each_word(std::uint16_t{0x0101});
    case 4:
      return each_word(std::uint32_t{0x01010101});
    default:
      return each_word(std::uint64_t{0x0101010101010101});
  }
}

void BlockMemory::check_shared(Mask mask, const Addresses& addresses, unsigned bytes, bool writes) {
  std::uint64_t low = ~std::uint64_t{0}, high = 0, bits = 0;
  for_lanes(mask, [&](unsigned i) {
    low = std::min(low, addresses[i]);
    high = std::max(high, addresses[i]);
    bits |= addresses[i];
  });
  if (bits % bytes != 0) misaligned(mask, addresses, bytes, "shared memory");
  if (low < shared_begin_ || high + bytes > shared_end_) {
    Mask wrong = 0;
    for_lanes(mask, [&](unsigned i) {
      if (addresses[i] < shared_begin_ || addresses[i] + bytes > shared_end_) wrong |= Mask{1} << i;
    });
    const std::uint64_t at = addresses[static_cast<std::size_t>(std::countr_zero(wrong))];
    throw Fault{"access of " + std::to_string(bytes) + " bytes at " +
                    std::to_string(static_cast<std::int64_t>(at - shared_begin_)) +
                    " of shared memory, of which the block has " +
                    std::to_string(shared_end_ - shared_begin_) + " bytes",
                wrong, true};
  }
  check_written(mask, addresses, bytes, writes);
  for (const std::uint64_t object : guarded) {
    if (high + bytes <= object || low >= object + 8) continue;
    for_lanes(mask, [&](unsigned i) {
      if (addresses[i] < object + 8 && addresses[i] + bytes > object) {
        throw Fault{"access to the bytes of an mbarrier", Mask{1} << i};
      }
    });
  }
}

View BlockMemory::view(Space space, Mask mask, const Addresses& addresses, unsigned bytes,
                       bool writes, unsigned warp, Mask* host) {
  const auto within = [&](std::size_t end, const char* what) {
    for_lanes(mask, [&](unsigned i) {
      if (addresses[i] % bytes != 0) misaligned(mask, addresses, bytes, what);
      if (addresses[i] > end || bytes > end - addresses[i]) {
        throw Fault{std::string("access beyond the end of ") + what, Mask{1} << i, true};
      }
    });
  };
  switch (space) {
    case Space::shared:
      check_shared(mask, addresses, bytes, writes);
      return {reinterpret_cast<std::byte*>(shared_.data()), 0};
    case Space::local:
      within(local_bytes_, "local memory");
      return {local_.data() + std::size_t{warp} * lanes * local_bytes_, local_bytes_};
    case Space::parameter:
      within(parameters_.size(), "the kernel's parameters");
      if (writes) throw Fault{"store to a parameter", mask};
      return {parameters_.data(), 0};
    case Space::constant:
      within(module_data_.size(), "the variables at module scope");
      if (writes) {
        throw Fault{"store to a variable at module scope, which the PTX engine only reads", mask};
      }
      return {module_data_.data(), 0};
    default:
      check_global(mask, addresses, bytes, writes, host);
      return {};
  }
}

std::vector<std::byte*> BlockMemory::multicast_places(unsigned lane, std::uint64_t address,
                                                      unsigned bytes) {
  const auto* p = reinterpret_cast<const std::byte*>(address);
  const Allocation* const a = device_.in_range(p) ? device_.find(p) : nullptr;
  const auto refuse = [&](const std::string& why) {
    throw Fault{"multimem operation on " + std::to_string(bytes) + " bytes " + why, Mask{1} << lane,
                true};
  };
  if (a == nullptr || a->team == 0) refuse("at what is no multicast address");
  if (address % bytes != 0) refuse("at an address that is no multiple of that");
  if (!a->contains(p, bytes)) refuse("beyond the end of the multicast object");
  if (a->replicas.size() < a->team) {
    refuse("of a multicast object to which not all devices have bound memory");
  }
  if (!a->accessors->contains(kernels_device_)) {
    refuse("that cuMemSetAccess has not opened to device " + std::to_string(kernels_device_));
  }
  std::vector<std::byte*> places;
  for (Allocation* const replica : a->replicas) {
    places.push_back(replica->begin + (p - a->begin));
    DeviceMemory::touch(*replica, places.back(), bytes);
  }
  return places;
}

const std::byte* BlockMemory::global_piece(std::uint64_t address, std::size_t bytes) {
  Allocation* const a = allocation(address, bytes);
  if (a == nullptr) {
    throw Fault{"copy of " + std::to_string(bytes) + " bytes out of bounds: " + describe(address),
                0, true};
  }
  const auto* p = reinterpret_cast<const std::byte*>(address);
  DeviceMemory::touch(*a, p, bytes);
  return p;
}

std::byte* BlockMemory::shared_piece(std::uint64_t address, std::size_t bytes,
                                     std::size_t alignment) {
  if (address % alignment != 0) {
    throw Fault{"address in shared memory that is no multiple of " + std::to_string(alignment), 0,
                true};
  }
  if (address < shared_begin_ || address > shared_end_ || bytes > shared_end_ - address) {
    throw Fault{std::to_string(bytes) + " bytes beyond the end of shared memory", 0, true};
  }
  return reinterpret_cast<std::byte*>(shared_.data()) + address;
}

std::string BlockMemory::describe(std::uint64_t address) const {
  const auto* p = reinterpret_cast<const std::byte*>(address);
  const Allocation* const a = device_.in_range(p) ? device_.preceding(p) : nullptr;
  if (a == nullptr) return "what is no memory of the device";
  const auto away = static_cast<std::uint64_t>(p - a->begin);
  return (away < a->bytes ? std::to_string(away) + " bytes into"
                          : std::to_string(away - a->bytes) + " bytes behind") +
         " an allocation of " + std::to_string(a->bytes) + " bytes";
}

std::pair<std::string, std::uint64_t> BlockMemory::home_of(std::uint64_t address) const {
  const Allocation* const a = device_.find(reinterpret_cast<const void*>(address));
  if (a == nullptr) return {"what is no memory of the device", 0};
  return {"an allocation of " + std::to_string(a->bytes) + " bytes",
          reinterpret_cast<std::uint64_t>(a->begin)};
}

}  // namespace gpubench::model::ptx
