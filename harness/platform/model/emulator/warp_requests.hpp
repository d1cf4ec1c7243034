// From the traces of a warp's lanes to the requests the hardware would issue.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/platform/model/emulator/block_result.hpp"
#include "harness/platform/model/emulator/flow_graph.hpp"
#include "harness/platform/model/emulator/trace.hpp"
#include "harness/platform/model/memory/host_memory.hpp"

namespace gpubench::model {

// One memory instruction, or special function, executed once by a warp.
struct WarpRequest {
  Event event;  // where, what kind, and the size of a lane's access
  std::uint32_t lanes = 0;
  std::uint32_t interval = 0;  // barriers of the block that the warp has passed before
  std::array<std::uint64_t, warp_lanes> address{};  // of the lanes that take part in an access
};

// Zips the traces of up to 32 lanes (in lane order) and calls `sink(const WarpRequest&)` for each
// request, and `arithmetic(Event, lanes)` for the operations of a unit. Assumes that lanes
// reconverge fully at the immediate post-dominator of a branch.
class WarpZipper {
 public:
  // Shows the zipper a warp's traces; must see all warps of a block before it zips one of them.
  // Whether none of the lanes diverged.
  bool learn(std::span<const LaneTrace> warp) {
    if (split(warp) == 1) return true;
    for (const Group& group : groups_) graph_.learn(events(warp[group.lanes.front()]));
    return false;
  }

  template <class Sink>
  void zip(std::span<const LaneTrace> warp, Sink&& sink) {
    zip(warp, sink, [](Event, std::uint32_t) {});
  }
  template <class Sink, class Arithmetic>
  void zip(std::span<const LaneTrace> warp, Sink&& sink, Arithmetic&& arithmetic) {
    if (split(warp) == 1) return zip_together(warp, sink, arithmetic);
    zip_groups(warp, sink, arithmetic);
  }

  // For lanes of which none diverged: the n-th event of one is the n-th of all.
  template <class Sink, class Arithmetic>
  static void zip_together(std::span<const LaneTrace> warp, Sink&& sink, Arithmetic&& arithmetic) {
    std::size_t access = 0;
    WarpRequest request;
    request.lanes = warp.size() == warp_lanes ? ~0u : (1u << warp.size()) - 1;
    std::array<const std::uint64_t*, warp_lanes> addresses;
    for (std::size_t lane = 0; lane < warp.size(); ++lane) {
      addresses[lane] = warp[lane].addresses.data();
    }
    for (const Event e : events(warp[0])) {
      if (kind_of(e) == EventKind::arithmetic) arithmetic(e, request.lanes);
      if (is_block_barrier(e)) ++request.interval;
      if (!is_request(e)) continue;
      request.event = e;
      if (is_access(e)) {
        for (std::size_t lane = 0; lane < warp.size(); ++lane) {
          request.address[lane] = addresses[lane][access];
        }
        ++access;
      }
      sink(std::as_const(request));
    }
  }

 private:
  // For the groups that split() has found.
  template <class Sink, class Arithmetic>
  void zip_groups(std::span<const LaneTrace> warp, Sink& sink, Arithmetic& arithmetic) {
    requests_.clear();
    by_key_.clear();
    const bool merges_tails = have_one_tail(warp);
    for (const Group& group : groups_) {
      const auto trace = events(warp[group.lanes.front()]);
      graph_.keys(trace, keys_);
      if (merges_tails && graph_.merged_tail_bytes(trace) > 0) keys_.back() = tail_key;
      std::size_t keyed = 0, access = 0;
      std::uint32_t interval = 0;
      for (const Event e : trace) {
        const bool is_arithmetic = kind_of(e) == EventKind::arithmetic;
        if (kind_of(e) != EventKind::collective && !is_arithmetic && !is_request(e)) continue;
        const std::uint64_t key = keys_[keyed++];
        if (is_block_barrier(e)) ++interval;
        if (kind_of(e) == EventKind::collective) continue;
        const auto [found, added] = by_key_.try_emplace(key, requests_.size());
        if (added) {
          if (requests_.size() == requests_.capacity()) {
            ask_to_keep(2 * requests_.size(), sizeof(WarpRequest));
          }
          requests_.emplace_back();
          requests_.back().event = e;
          requests_.back().interval = interval;
        }
        WarpRequest& request = requests_[found->second];
        for (const unsigned lane : group.lanes) {
          request.lanes |= 1u << lane;
          if (is_access(e)) request.address[lane] = warp[lane].addresses[access];
        }
        access += is_access(e) ? 1 : 0;
      }
    }
    for (const WarpRequest& request : requests_) {
      if (is_request(request.event)) {
        sink(request);
      } else {
        arithmetic(request.event, request.lanes);
      }
    }
  }

  struct Group {  // lanes that took one and the same path
    std::vector<unsigned> lanes;
  };

  static std::span<const Event> events(const LaneTrace& trace) {
    return {trace.events.data(), trace.events.size()};
  }

  std::size_t split(std::span<const LaneTrace> warp) {
    groups_.clear();
    for (unsigned lane = 0; lane < warp.size(); ++lane) {
      const auto own = events(warp[lane]);
      bool placed = false;
      for (Group& group : groups_) {
        const auto theirs = events(warp[group.lanes.front()]);
        if (std::ranges::equal(own, theirs)) {
          group.lanes.push_back(lane);
          placed = true;
          break;
        }
      }
      if (!placed) groups_.push_back({{lane}});
    }
    return groups_.size();
  }

  // Whether the stores with which lanes' ways through the kernel end, wherever they stand in it,
  // are one instruction in nvcc's code: it merges tails that store to the same address. They do if
  // lanes' addresses are evenly spaced.
  bool have_one_tail(std::span<const LaneTrace> warp) const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> stores;  // lane and address
    unsigned bytes = 0;
    for (const Group& group : groups_) {
      const unsigned own = graph_.merged_tail_bytes(events(warp[group.lanes.front()]));
      if (own == 0) continue;
      if (bytes != 0 && own != bytes) return false;
      bytes = own;
      for (const unsigned lane : group.lanes) {
        stores.emplace_back(lane, warp[lane].addresses[warp[lane].addresses.size() - 1]);
      }
    }
    if (stores.empty()) return false;
    std::ranges::sort(stores);
    // Unsigned arithmetic, in which a spacing may be negative as well.
    const auto lanes = stores.back().first - stores.front().first;
    const auto apart = stores.back().second - stores.front().second;
    return std::ranges::all_of(stores, [&](const auto& store) {
      return (store.second - stores.front().second) * lanes ==
             apart * (store.first - stores.front().first);
    });
  }

  static constexpr std::uint64_t tail_key = 1;  // hashes are other numbers

  FlowGraph graph_;
  std::vector<Group> groups_;
  std::vector<std::uint64_t> keys_;
  std::vector<WarpRequest> requests_;
  std::unordered_map<std::uint64_t, std::size_t> by_key_;
};

}  // namespace gpubench::model
