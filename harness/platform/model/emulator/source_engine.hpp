// The engine that runs kernels as the host's compiler made them, lane by lane.
#pragma once

#include <span>
#include <vector>

#include "harness/platform/model/emulator/block_engine.hpp"
#include "harness/platform/model/emulator/block_runner.hpp"
#include "harness/platform/model/emulator/cluster_runner.hpp"

namespace gpubench::model {

class SourceEngine final : public BlockEngine {
 public:
  SourceEngine(DeviceMemory& memory, const MappedHost& is_mapped_host, const Ordering& ordering)
      : runner_(memory, is_mapped_host, ordering), cluster_(memory, is_mapped_host, ordering) {}

  void attach() override {
    runner_.attach();
    cluster_.attach();
  }
  void begin_kernel() override {
    zipper_ = {};  // another kernel's control flow is of no use
    runner_.poison({});
  }
  BlockResult turn_to(unsigned rank) override;
  BlockResult run(const KernelLaunch& launch, dim3 index, bool traced) override;
  void visit(std::size_t first, const RequestSink& request,
             const ArithmeticSink& arithmetic) override;
  LaneWaits waits_of(std::size_t lane) const override;
  std::uint64_t events() const override;
  Space space_of(std::uint64_t address) const override { return current_->space_of(address); }
  std::uint32_t lanes_in(Space space, const WarpRequest& request) const override {
    return lanes_where(space, request, [this](std::uint64_t at) { return current_->space_of(at); });
  }
  std::pair<std::string, std::uint64_t> home_of(std::uint64_t address) const override {
    return current_->home_of(address);
  }
  std::vector<std::size_t> written_variables() const override {
    // A cluster has none: writing to one is an error.
    return current_ == &runner_ ? runner_.written_variables() : std::vector<std::size_t>();
  }
  std::size_t static_shared_bytes() const override {
    return current_ == &runner_ ? runner_.static_shared_bytes() : 0;
  }
  void poison(const std::vector<std::size_t>& variables) override { runner_.poison(variables); }

 private:
  std::span<const LaneTrace> warp(std::size_t first) const;
  // The block that `result` is of, `current_`, ran to its end.
  void learn(const BlockResult& result, bool traced);

  BlockRunner runner_;  // of blocks that are no cluster's
  ClusterRunner cluster_;
  std::vector<BlockResult> results_;  // of the cluster that ran last
  bool traced_ = false;
  const BlockRunner* current_ = &runner_;  // that ran last
  WarpZipper zipper_;
  std::size_t lanes_ = 0;
  std::vector<bool> together_;  // by warp of the last traced block: none of its lanes diverged
};

}  // namespace gpubench::model
