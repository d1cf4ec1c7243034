// A thread block at work: its warps take turns, split, meet again and wait for one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/platform/model/launch/executor.hpp"
#include "harness/platform/model/ptx/async.hpp"
#include "harness/platform/model/ptx/conduct.hpp"
#include "harness/platform/model/ptx/memory_view.hpp"
#include "harness/platform/model/ptx/program.hpp"
#include "harness/platform/model/ptx/tensor_memory.hpp"
#include "harness/platform/model/ptx/warp.hpp"

namespace gpubench::model::ptx {

class Cluster;

class Block {
 public:
  Block(Cluster& of, unsigned its_ordinal, DeviceMemory& device, const MappedHost& is_mapped_host,
        const Conduct& how)
      : cluster(of),
        ordinal(its_ordinal),
        memory(device, is_mapped_host),
        conduct(how),
        dice(how.seed) {}

  // The next block is another launch's than the last: nothing of that one holds any more.
  void begin_launch() { is_new_launch_ = true; }
  // Ready for block `index` of the launch.
  void begin(const Program& program, const KernelLaunch& launch, dim3 index, bool traced);
  bool advance();  // a turn for each warp; whether any could do something
  void end_in_deadlock() { result.fault = describe_deadlock(); }
  BlockResult finish();
  unsigned live_threads() const { return live_; }

  const std::vector<std::unique_ptr<Warp>>& warps() const { return warps_; }
  std::uint64_t operations() const { return operations_; }

  // --- for operations ---
  Cluster& cluster;
  const unsigned ordinal;  // among the blocks that run together
  unsigned rank() const { return index_.x % launch_->cluster; }
  // Memory for the lanes of the mask, checked; that of another block of the cluster too.
  View view(Space space, Mask mask, const Addresses& addresses, unsigned bytes, bool writes,
            unsigned warp, Mask* host);
  BlockMemory memory;
  AsyncUnit async{*this};
  TensorUnit tensors{*this};
  const Conduct conduct;
  Dice dice;
  bool is_traced = false;
  BlockResult result;
  const Program& program() const { return *program_; }
  const KernelLaunch& launch() const { return *launch_; }
  // Whether all threads of the block, or `threads`, have come to the barrier; notes who has, and
  // how many of them vote.
  bool meet(Warp& warp, unsigned barrier, unsigned threads, Mask mask, Mask votes = 0);
  // The same without waiting for the others; whether the warp has come as a whole.
  bool pass(Warp& warp, unsigned barrier, unsigned threads, Mask mask);
  // Lanes that wait where their way meets that of these go on alone; false if there are none.
  static bool let_others_go(Warp& warp, Mask mask);
  // How many voted, and came, of the threads that met last.
  unsigned votes_at(unsigned barrier) const { return barriers_[barrier].released; }
  unsigned threads_at(unsigned barrier) const { return barriers_[barrier].released_threads; }

 private:
  struct Barrier {
    unsigned threads = 0;  // arrived
    unsigned needed = 0;   // 0: all that are there
    unsigned votes = 0;
    unsigned released = 0, released_threads = 0;  // votes and threads of the last generation
    std::uint32_t generation = 0;
    bool is_waiting(unsigned warp) const { return warp < waiting.size() && waiting[warp] != 0; }
    std::vector<std::uint32_t> waiting;  // by warp: the generation that lets it go, or 0
  };

  void fill_parameters();
  void fill_specials(Warp& warp, dim3 index, bool all);
  // Something that goes on beside the warps comes to its end; false if nothing does.
  bool finish_one();
  bool run_once();  // gives every warp a turn; false if none could do anything
  bool run_warp(Warp& warp);
  bool run_fragment(Warp& warp, std::uint32_t number, std::uint64_t turns);
  template <bool with_warpgroups>
  bool step(Warp& warp, std::uint32_t number, std::uint64_t turns);
  template <bool with_warpgroups>
  void perform(Warp& warp, const Op& op, Mask active);
  void split(Warp& warp, std::uint32_t number, const Op& op, std::uint32_t pc, Mask taken);
  void arrive(Warp& warp, std::uint32_t number);
  void leave(Warp& warp, std::uint32_t number, Mask mask);
  // What is left of a warp comes to a barrier; false while lanes that are elsewhere may yet end.
  bool come(Warp& warp, unsigned barrier, unsigned threads, Mask mask, Mask votes);
  void release(Barrier& barrier);
  std::string describe_fault(const Fault& fault, const Warp& warp, const Op& op) const;
  std::string describe_deadlock() const;
  std::string thread_name(unsigned linear) const;

  const Program* program_ = nullptr;
  const KernelLaunch* launch_ = nullptr;
  dim3 index_;
  std::vector<std::unique_ptr<Warp>> warps_;
  std::vector<Barrier> barriers_;
  std::uint64_t operations_ = 0;
  unsigned live_ = 0;  // threads
  bool is_new_launch_ = true;
  const Op* current_ = nullptr;
};

}  // namespace gpubench::model::ptx
