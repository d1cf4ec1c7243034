#include "harness/platform/model/ptx/engine.hpp"

#include <algorithm>
#include <bit>

#include "harness/platform/model/ptx/block.hpp"
#include "harness/platform/model/ptx/cluster.hpp"
#include "harness/platform/model/ptx/windows.hpp"

namespace gpubench::model::ptx {
namespace {

class Engine final : public BlockEngine {
 public:
  Engine(Library& library, std::pair<int, int> capability, const Conduct& conduct,
         DeviceMemory& memory, const MappedHost& mapped)
      : library_(library),
        capability_(capability),
        conduct_(conduct),
        cluster_(memory, mapped, conduct) {}

  void attach() override {}
  void begin_kernel() override {
    program_ = nullptr;
    cluster_.begin_launch();
  }
  BlockResult run(const KernelLaunch& launch, dim3 index, bool traced) override;
  BlockResult turn_to(unsigned rank) override {
    current_ = &cluster_.block(rank);
    return results_[rank];
  }
  void visit(std::size_t first, const RequestSink& request,
             const ArithmeticSink& arithmetic) override;
  LaneWaits waits_of(std::size_t lane) const override;
  std::uint64_t events() const override;
  model::Space space_of(std::uint64_t address) const override {
    return address - shared_window < window_bytes ? model::Space::shared
           : is_of_cluster(address)               ? model::Space::remote
                                                  : model::Space::global;
  }
  std::uint32_t lanes_in(model::Space space, const WarpRequest& request) const override {
    return lanes_where(space, request, [this](std::uint64_t at) { return space_of(at); });
  }
  std::pair<std::string, std::uint64_t> home_of(std::uint64_t address) const override;
  std::size_t static_shared_bytes() const override { return program_->static_shared_bytes; }

 private:
  Library& library_;
  const std::pair<int, int> capability_;
  const Conduct conduct_;
  Cluster cluster_;
  std::vector<BlockResult> results_;  // of the cluster that ran last
  const Block* current_ = nullptr;    // that the rest is about
  std::shared_ptr<const Program> program_;
};

BlockResult Engine::run(const KernelLaunch& launch, dim3 index, bool traced) {
  try {
    if (program_ == nullptr) {
      program_ = library_.find(launch.name, capability_, conduct_.shared_shift);
    }
    results_ = cluster_.run(*program_, launch, index, traced);
    return turn_to(0);
  } catch (const PtxError& error) {
    BlockResult result;
    result.fault = error.what();
    return result;
  }
}

struct Counted {
  Tally tally;
  Arithmetic unit;
};
constexpr Counted counted[] = {
    {Tally::fma_fp32, Arithmetic::fma_fp32},     {Tally::fma_fp64, Arithmetic::fma_fp64},
    {Tally::fma_fp16x2, Arithmetic::fma_fp16x2}, {Tally::fma_bf16x2, Arithmetic::fma_bf16x2},
    {Tally::mad_int32, Arithmetic::mad_int32},   {Tally::add_fp32, Arithmetic::add_fp32},
    {Tally::max_fp32, Arithmetic::max_fp32},     {Tally::pack_16x2, Arithmetic::pack_16x2},
};
std::uint32_t lowest_lanes(unsigned count) {
  return count == lanes ? ~std::uint32_t{0} : (std::uint32_t{1} << count) - 1;
}

void Engine::visit(std::size_t first, const RequestSink& request,
                   const ArithmeticSink& arithmetic) {
  const Warp& warp = *current_->warps()[first / lanes];
  for (const WarpRequest& one : warp.requests) request(one);
  for (const auto& [tally, unit] : counted) {
    const auto& by_lanes = warp.tallies[static_cast<std::size_t>(tally)];
    for (unsigned n = 1; n <= lanes; ++n) {
      if (by_lanes[n] > 0) arithmetic(unit, by_lanes[n], lowest_lanes(n));
    }
  }
  std::uint32_t specials = 0;
  for (const std::uint32_t n : warp.tallies[static_cast<std::size_t>(Tally::special)])
    specials += n;
  WarpRequest special;
  special.lanes = warp.exists;
  for (constexpr std::uint32_t most = 255; specials > 0; specials -= std::min(specials, most)) {
    special.event = make_event(nullptr, EventKind::special, std::min(specials, most));
    request(special);
  }
}

LaneWaits Engine::waits_of(std::size_t lane) const {
  const Warp& warp = *current_->warps()[lane / lanes];
  const std::size_t i = lane % lanes;
  FmaChain chain = warp.fma_chains[i];
  const auto steps = static_cast<std::uint32_t>(warp.fma_steps);
  if (steps > chain.count() && chain.count() > 0) chain.note_unwatched(steps - chain.count());
  const LoadChain& loads = warp.load_chains[i];
  return {.load_chain = loads.links(model::Space::global),
          .shared_chain = loads.links(model::Space::shared),
          .remote_chain = loads.links(model::Space::remote),
          .fma_chain = chain.longest(),
          .fma_steps = chain.count(),
          .copies = current_->async.copy_waits(warp.number, static_cast<unsigned>(i))};
}

std::uint64_t Engine::events() const {
  std::uint64_t events = 0;
  for (const auto& warp : current_->warps()) {
    for (const WarpRequest& request : warp->requests) {
      events += static_cast<std::uint64_t>(std::popcount(request.lanes));
    }
    for (const auto& by_lanes : warp->tallies) {
      for (unsigned n = 1; n <= lanes; ++n) events += std::uint64_t{by_lanes[n]} * n;
    }
  }
  return events;
}

std::pair<std::string, std::uint64_t> Engine::home_of(std::uint64_t address) const {
  if (is_of_cluster(address)) {
    const std::uint64_t begin = address / window_bytes * window_bytes;
    return {"shared memory of block " + std::to_string((begin - cluster_window) / window_bytes) +
                " of the cluster",
            begin + current_->memory.shared_begin()};
  }
  if (space_of(address) == model::Space::shared) {
    const std::uint64_t dynamic = shared_window + current_->memory.dynamic_begin();
    const bool is_dynamic = address >= dynamic && current_->launch().shared_bytes > 0;
    return {is_dynamic ? "dynamic shared memory" : "shared memory",
            is_dynamic ? dynamic : shared_window + current_->memory.shared_begin()};
  }
  return current_->memory.home_of(address);
}

}  // namespace

MakeEngine make_engine(Library& library, std::pair<int, int> capability, const Conduct& conduct) {
  return [&library, capability, conduct](DeviceMemory& memory, const MappedHost& mapped) {
    return std::make_unique<Engine>(library, capability, conduct, memory, mapped);
  };
}

}  // namespace gpubench::model::ptx
