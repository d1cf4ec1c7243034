// The model's side of NCCL: what the calls in include/nccl.h need beyond themselves.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace gpubench::model {

// Results of up to this many elements, over all ranks, are computed; larger ones are only priced.
inline constexpr std::size_t most_computed_elements = std::size_t{1} << 20;

// Carries bytes between the processes that share a communicator: every one hands over its own and
// has those of all, in order of rank. All processes come to their collectives in the same order.
using Exchange = std::function<std::vector<std::byte>(const std::vector<std::byte>& mine)>;

// Without one (the default), all ranks of a communicator are in this process.
void set_collective_exchange(Exchange exchange);

}  // namespace gpubench::model
