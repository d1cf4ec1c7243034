// What runs a kernel's blocks for the emulator and tells what their warps did: the source as g++
// compiled it (emulator/source_engine.hpp), or nvcc's PTX (ptx/engine.hpp).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/platform/model/conditions/conditions.hpp"
#include "harness/platform/model/emulator/block_result.hpp"
#include "harness/platform/model/emulator/warp_requests.hpp"
#include "harness/platform/model/launch/executor.hpp"
#include "harness/platform/model/memory/memory.hpp"

namespace gpubench::model {

// What a lane waited for in the block that ran last.
struct LaneWaits {
  // Loads, one for the other's sake: of global memory, shared memory, and that of other blocks.
  std::uint32_t load_chain = 0, shared_chain = 0, remote_chain = 0;
  std::uint32_t fma_chain = 0, fma_steps = 0;  // fp32 multiply-adds, likewise; and all of them
  CopyWaits copies;
};

using RequestSink = std::function<void(const WarpRequest&)>;
using ArithmeticSink =
    std::function<void(Arithmetic unit, unsigned operations, std::uint32_t lanes)>;

// What BlockEngine::lanes_in() is for an engine that has `space_of`.
template <class SpaceOf>
std::uint32_t lanes_where(Space space, const WarpRequest& request, SpaceOf&& space_of) {
  std::uint32_t found = 0;
  for (std::uint32_t rest = request.lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
    found |= std::uint32_t{space_of(request.address[lane]) == space} << lane;
  }
  return found;
}

// One for each of the host's threads; it knows one kernel at a time.
class BlockEngine {
 public:
  virtual ~BlockEngine() = default;

  // To be called on the thread that will run blocks.
  virtual void attach() = 0;
  virtual void begin_kernel() = 0;
  // Runs block `index` of the launch to its end, with all blocks of its cluster, whose first it is.
  // `traced`: keep what every warp did. A fault of any of them is this one's.
  virtual BlockResult run(const KernelLaunch& launch, dim3 index, bool traced) = 0;
  // What follows is about another block of that cluster. Returns its result.
  virtual BlockResult turn_to(unsigned rank) = 0;

  // --- of the block that ran last, if it was traced ---
  // The requests of the warp whose first lane is `first`, in its order, and its operations.
  virtual void visit(std::size_t first, const RequestSink& request,
                     const ArithmeticSink& arithmetic) = 0;
  virtual LaneWaits waits_of(std::size_t lane) const = 0;
  // What a block costs to run and to count, in accesses and multiply-adds of a lane.
  virtual std::uint64_t events() const = 0;

  // Whose memory an address of a request is.
  virtual Space space_of(std::uint64_t address) const = 0;
  // The lanes of an access that name memory of that kind.
  virtual std::uint32_t lanes_in(Space space, const WarpRequest& request) const = 0;
  // What such an address, or one of device memory, belongs to ("'tile'"), and where that begins.
  virtual std::pair<std::string, std::uint64_t> home_of(std::uint64_t address) const = 0;
  // Static shared variables that the last block wrote, by number, and those that are to hold no
  // earlier block's values when one begins; none where a block's memory is always a new one.
  virtual std::vector<std::size_t> written_variables() const { return {}; }
  virtual void poison(const std::vector<std::size_t>&) {}
  // What static shared memory the last block is known to have had, if it was traced [bytes].
  virtual std::size_t static_shared_bytes() const = 0;
};

// Both must outlive the engine.
using MakeEngine =
    std::function<std::unique_ptr<BlockEngine>(DeviceMemory& memory, const MappedHost& mapped)>;

std::unique_ptr<BlockEngine> make_source_engine(DeviceMemory& memory, const MappedHost& mapped,
                                                const Ordering& ordering);

}  // namespace gpubench::model
