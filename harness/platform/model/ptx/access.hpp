// What operations on memory have in common: addresses, the spaces they name, what is counted.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#include "harness/platform/model/ptx/block.hpp"
#include "harness/platform/model/ptx/builder.hpp"
#include "harness/platform/model/ptx/windows.hpp"

namespace gpubench::model::ptx {

// From the operation's register a and its offset. A fault where a lane of the mask has none.
Addresses addresses_of(Warp& w, const Op& op, Mask mask);
// A lane's value of another operand. A fault where it has none.
std::uint64_t operand_of(Warp& w, const Register& r, unsigned lane);

// In a traced block: what global and shared memory see of an access; `host`: lanes that name the
// host's memory.
void note_access(Warp& w, const Op& op, Space space, EventKind kind, unsigned bytes, Mask mask,
                 const Addresses& addresses, Mask host);

// What lanes name of other blocks' shared memory, all in one request.
void note_remote_access(Warp& w, const Op& op, EventKind kind, unsigned bytes, Mask mask,
                        const Addresses& generic);
// Whose memory that is, where accesses to it are counted.
std::optional<model::Space> counted_space(Space space);
// The space that the instruction's parts name.
Space space_of(Builder& b);
// An operation on the address in brackets, in the space that `extra` says.
Op& add_access(Builder& b, Handler run, const Operand& address, Extra& extra);
// The same of one that may have to wait.
Op& add_waiting_access(Builder& b, Waiter wait, const Operand& address, Extra& extra);
// Whether the lanes mean the word at which the blocks of a cooperative grid meet.
bool is_grid_barrier(const Addresses& addresses, Mask mask);

// Calls `visit(space, lanes, addresses in it)` for each space that generic addresses name.
template <class Visit>
void each_space(Space space, Mask mask, const Addresses& addresses, Visit&& visit) {
  if (space != Space::generic) {
    visit(space, mask, addresses);
    return;
  }
  std::array<Mask, 5> in{};
  Mask in_cluster = 0;
  for_lanes(mask, [&](unsigned i) {
    if (is_of_cluster(addresses[i])) {
      in_cluster |= Mask{1} << i;
      return;
    }
    const std::uint64_t window = addresses[i] & ~(window_bytes - 1);
    const unsigned which = window == shared_window      ? 1
                           : window == local_window     ? 2
                           : window == parameter_window ? 3
                           : window == module_window    ? 4
                                                        : 0;
    in[which] |= Mask{1} << i;
  });
  constexpr Space spaces[] = {Space::global, Space::shared, Space::local, Space::parameter,
                              Space::constant};
  for (unsigned which = 0; which < in.size(); ++which) {
    if (in[which] == 0) continue;
    Addresses within = addresses;
    if (which != 0) {
      for (std::uint64_t& a : within) a &= window_bytes - 1;
    }
    visit(spaces[which], in[which], within);
  }
  while (in_cluster != 0) {  // block by block
    const std::uint64_t first = addresses[static_cast<std::size_t>(std::countr_zero(in_cluster))];
    Mask of_block = 0;
    for_lanes(in_cluster, [&](unsigned i) {
      if (addresses[i] / window_bytes == first / window_bytes) of_block |= Mask{1} << i;
    });
    in_cluster &= ~of_block;
    Addresses within = addresses;
    for (std::uint64_t& a : within) a -= cluster_window;
    visit(Space::cluster, of_block, within);
  }
}

}  // namespace gpubench::model::ptx
