// Which bytes of each allocation a kernel's traced blocks touched: for the order between streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/platform/model/emulator/footprint.hpp"
#include "harness/platform/model/memory/touches.hpp"

namespace gpubench::model {

// One worker's. Bytes that lie far apart are kept as far as `most_ranges`: what is kept was
// touched for certain.
class TouchedBytes {
 public:
  void clear() { parts_.clear(); }
  void add(const Footprint* of, const BlockSector& done);
  // Some of what was written there was so by atomic operations, or by stores.
  void note_atomic(const Footprint* of) { part(of).atomic = true; }
  void note_store(const Footprint* of) { part(of).stored = true; }

  // What several workers touched, together.
  static Touches sum(const std::vector<const TouchedBytes*>& workers);

 private:
  static constexpr std::size_t most_ranges = 1024;
  using Ranges = std::vector<ByteRange>;
  struct Part {
    const Footprint* of = nullptr;
    bool atomic = false, stored = false;
    Ranges read{}, written{};
  };
  Part& part(const Footprint* of);
  static void add(Ranges& ranges, std::size_t sector, std::uint32_t bytes);

  std::vector<Part> parts_;
};

}  // namespace gpubench::model
