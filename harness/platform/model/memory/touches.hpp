// Which bytes of device memory an operation reads, writes or changes atomically.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/platform/model/memory/memory.hpp"

namespace gpubench::model {

enum class Touch : std::uint8_t { read, write, atomic };

struct ByteRange {  // of an allocation
  std::size_t begin = 0, end = 0;
};

// One way in which one allocation is touched.
struct Touched {
  std::uint64_t identity = 0;  // of the allocation
  std::size_t allocation_bytes = 0;
  Touch how = Touch::read;
  std::shared_ptr<const std::vector<ByteRange>> ranges{};  // ascending, without overlap; not empty
};
using Touches = std::vector<Touched>;

// Adds what lies in device memory: other addresses are the host's business.
void add_touch(Touches& to, const DeviceMemory& memory, const void* begin, std::size_t bytes,
               Touch how);

// Adds to what is touched of multicast objects the same of the memory that their addresses reach.
void add_replicas(Touches& to, const DeviceMemory& memory);

// Where two operations touch the same bytes, of which one changes them otherwise than atomically as
// the other does.
struct Conflict {
  const Touched* first = nullptr;
  const Touched* second = nullptr;
  ByteRange bytes{};
};
std::optional<Conflict> conflict(const Touches& first, const Touches& second);

// "bytes 0..127 of allocation 3 (4096 bytes)"
std::string describe(const Touched& touched, ByteRange bytes);

}  // namespace gpubench::model
