#include "harness/platform/model/emulator/source_engine.hpp"

#include <algorithm>

namespace gpubench::model {

BlockResult SourceEngine::run(const KernelLaunch& launch, dim3 index, bool traced) {
  if (launch.together > 1) {
    results_ = cluster_.run(launch, index, traced);
    traced_ = traced;
    return turn_to(0);
  }
  BlockResult result = runner_.run(launch, index, traced);
  current_ = &runner_;
  learn(result, traced);
  return result;
}

BlockResult SourceEngine::turn_to(unsigned rank) {
  current_ = &cluster_.block(rank);
  learn(results_[rank], traced_);
  return results_[rank];
}

void SourceEngine::learn(const BlockResult& result, bool traced) {
  lanes_ = result.lanes;
  together_.clear();
  // All warps must be shown before one is zipped.
  for (std::size_t first = 0; traced && result.fault.empty() && first < lanes_;
       first += warp_lanes) {
    together_.push_back(zipper_.learn(warp(first)));
  }
}

std::span<const LaneTrace> SourceEngine::warp(std::size_t first) const {
  return std::span(current_->traces())
      .subspan(first, std::min<std::size_t>(warp_lanes, lanes_ - first));
}

void SourceEngine::visit(std::size_t first, const RequestSink& request,
                         const ArithmeticSink& arithmetic) {
  const auto add = [&](Event e, std::uint32_t lanes) {
    arithmetic(unit_of(e), operations_of(e), lanes);
  };
  if (together_[first / warp_lanes]) {
    WarpZipper::zip_together(warp(first), request, add);
  } else {
    zipper_.zip(warp(first), request, add);
  }
}

LaneWaits SourceEngine::waits_of(std::size_t lane) const {
  const LoadChain& loads = current_->load_chain(lane);
  const FmaChain& fmas = current_->chain(lane);
  return {.load_chain = loads.links(Space::global),
          .shared_chain = loads.links(Space::shared),
          .remote_chain = loads.links(Space::remote),
          .fma_chain = fmas.longest(),
          .fma_steps = fmas.count(),
          .copies = current_->copy_waits(lane)};
}

// A counted multiply-add is a call, and costs about what an event does.
std::uint64_t SourceEngine::events() const {
  std::uint64_t events = 0;
  for (const LaneTrace& trace : current_->traces()) events += trace.events.size() + trace.merged;
  return events;
}

std::unique_ptr<BlockEngine> make_source_engine(DeviceMemory& memory, const MappedHost& mapped,
                                                const Ordering& ordering) {
  return std::make_unique<SourceEngine>(memory, mapped, ordering);
}

}  // namespace gpubench::model
