// What goes on beside the warps: copies, the mbarriers that count them, products of wgmma.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "harness/platform/model/ptx/memory_view.hpp"
#include "harness/platform/model/ptx/warp.hpp"

namespace gpubench::model::ptx {

class Block;

class AsyncUnit {
 public:
  explicit AsyncUnit(Block& block) : block_(block) {}
  void begin(unsigned warps);

  // --- cp.async ---
  // Lane by lane: where to, where from, how many bytes of those exist.
  void copy(Warp& warp, Mask mask, const Addresses& to, const Addresses& from, unsigned bytes,
            const std::array<unsigned, lanes>& exist);
  void commit_copies(Warp& warp, Mask mask);
  void wait_for_copies(Warp& warp, Mask mask, unsigned groups_left);
  void wait_for_all_copies(Warp& warp, Mask mask);  // those without a group too

  // --- mbarriers, at addresses in shared memory ---
  // Who arrives: a thread, or what works beside the threads, of the mbarrier's own block or not.
  struct Arrival {
    bool is_async = false, is_others = false;
  };
  void init(const Warp& warp, unsigned lane, std::uint64_t barrier, unsigned arrivals);
  // What a fence orders that stands behind initialisations by the same thread.
  enum class Fence : std::uint8_t { initialisation, proxy_of_block, proxy_of_cluster };
  void fence(const Warp& warp, Mask mask, Fence fence);
  void arrive(std::uint64_t barrier, unsigned times, Arrival by);
  void expect(const Warp& warp, std::uint64_t barrier, std::int64_t bytes);  // and arrives once
  // Whether the phase of that parity has ended.
  bool has_ended(std::uint64_t barrier, unsigned parity);
  // `in_cluster`: in the cluster's scope, or in the block's.
  void note_wait(Warp& warp, Mask mask, std::uint64_t barrier, bool in_cluster);
  // Whether a wait ends before its phase has, as one may; not for ever.
  bool gives_up_waiting();

  // --- bulk copies: pieces of global memory to pieces of shared memory ---
  struct Piece {
    std::uint64_t to = 0;
    const std::byte* from = nullptr;
    std::uint32_t bytes = 0;
    std::uint32_t exist = bytes;  // what is not there is zeros
  };
  // `there`: whose mbarrier that is. `is_others`: another block than that one asks.
  void copy_bulk(std::vector<Piece> pieces, std::uint64_t barrier, std::int64_t bytes,
                 AsyncUnit& there, bool is_others);
  // Something that is under way comes to its end; false if nothing is.
  bool finish_one();

  const CopyWaits& copy_waits(unsigned warp, unsigned lane) const {
    return copying_[warp].by_lane[lane].waits;
  }

 private:
  struct Mbarrier {
    std::uint32_t arrivals = 1, missing = 1, phase = 0;
    unsigned warp = 0, lane = 0;        // that initialised it
    std::uint32_t announced_after = 0;  // 1 + meetings of the cluster before its fence; 0: none
    bool is_known_to_block = false, is_known_to_cluster = false;  // to what works beside threads
    bool others_arrive = false, others_arrived = false;  // in the present phase, in the last one
    std::int64_t bytes = 0;
    bool brings_copies = false, brought_copies = false;
    std::uint32_t beside = 0;
    std::uint64_t fmas_at_start = 0, fmas_before = 0;  // of the warp that expected them
  };
  struct BulkCopy {
    std::vector<Piece> pieces;
    std::uint64_t barrier = 0;
    std::int64_t bytes = 0;
    AsyncUnit* there = nullptr;  // whose mbarrier it is
    bool is_others = false;      // another block than that one has asked
  };
  struct Copy {  // a lane's
    unsigned lane = 0;
    std::uint32_t group = 0;
    std::uint64_t to = 0;
    const std::byte* from = nullptr;
    unsigned bytes = 0, exist = 0;
  };
  struct LaneCopies {
    bool has_open = false;     // for which no group was committed
    std::uint64_t groups = 0;  // committed, the last one lowest; a bit says it holds copies
    std::uint32_t commits = 0;
    std::uint64_t fmas_at_commit = 0;
    std::uint32_t phases_seen = 0;
    std::map<std::uint64_t, std::uint32_t> seen;  // by mbarrier
    CopyWaits waits;
  };
  struct WarpCopies {
    std::vector<Copy> pending;
    std::array<LaneCopies, lanes> by_lane;
  };

  Mbarrier& at(std::uint64_t barrier);
  void require_known(const Mbarrier& barrier, Arrival by) const;
  void end_phase(Mbarrier& barrier);
  void finish(const BulkCopy& copy);
  void finish(const Copy& copy);

  Block& block_;
  std::map<std::uint64_t, Mbarrier> mbarriers_;
  std::vector<BulkCopy> bulk_;
  std::vector<WarpCopies> copying_;
  unsigned vain_waits_ = 0;
  bool is_used_ = false;  // by the last block's threads
  std::uint32_t bulk_phases_ = 0, bulk_phases_seen_ = 0;
};

}  // namespace gpubench::model::ptx
