#include "harness/platform/model/collectives/cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/platform/model/time/switch_link.hpp"
#include "harness/platform/nccl_channels.hpp"

namespace gpubench::model {
namespace {

// --- what NCCL's tuning table holds ---
//
// All from NVIDIA/nccl, src/graph/tuning.cc, at commit 5067397 (2.30): ncclTunerConstantsDefaults,
// treeCorrectionFactor, getNetOverhead. Published by the maker as what NCCL chooses by, not as a
// measurement of any one machine.

enum Protocol { ll, ll128, simple };
constexpr std::array protocol_names{"LL", "LL128", "Simple"};

using ByProtocol = std::array<double, 3>;  // [s] unless it says otherwise

constexpr ByProtocol ring_base{6.6e-6, 14.0e-6, 8.4e-6};
constexpr ByProtocol tree_base{6.8e-6, 14.0e-6, 8.4e-6};
// A step over NVLink, and one over the network.
constexpr ByProtocol ring_nvlink_step{0.6e-6, 1.9e-6, 3.4e-6};
constexpr ByProtocol tree_nvlink_step{0.6e-6, 1.25e-6, 4.0e-6};
constexpr ByProtocol ring_network_step{2.7e-6, 4.0e-6, 14.0e-6};
constexpr ByProtocol tree_network_step{5.0e-6, 8.5e-6, 14.0e-6};
constexpr double nvls_latency = 25e-6;

// LL sends a flag with every 4 bytes, and is limited by the CPU's or GPU's generation [B/s]: on one
// node, on two, on more. The nodes of record, DGX A100 and DGX H100 / H200, have CPUs of AMD and of
// Intel, which also decides the network's overhead a step.
struct Generation {
  std::array<double, 3> most_ll;
  double network_overhead;
};
constexpr Generation ampere{{87.7e9, 22.5e9, 19.0e9}, 2e-6};
constexpr Generation hopper{{141.0e9, 39.0e9, 20.4e9}, 1e-6};

// What of its bandwidth a tree really reaches, by size: powers of two from 64 B on [1].
constexpr std::array<std::array<double, 24>, 3> tree_correction{{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
     .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
}};

constexpr double ll128_payload = 0.92;  // 120 of 128 bytes, as the table rounds it
constexpr double ring_plateau = 1.4;    // latency of Simple rings across nodes

// Rings and the switch reach their bandwidth for large sizes only, since channels are filled and
// drained chunk by chunk: of it, what is left at 1 GiB and less for each halving. (Fitted to
// nccl-tests on 8 A100, H100 and H200 between 2 and 128 MiB, docs/model-accuracy.md.)
constexpr double all_of_it_from = 1u << 30, lost_per_halving = 0.061, least_of_it = 0.3;
double reached(double bytes) {
  return std::clamp(1 - lost_per_halving * std::log2(all_of_it_from / bytes), least_of_it, 1.0);
}

// NCCL uses a channel less as long as a thread of 512 has less than 64 bytes (src/enqueue.cc,
// getChannnelThreadInfo; src/include/comm.h).
constexpr double bytes_a_channel = 512 * 64;
// What passes through a GPU's memory for each byte on its link: it is written there, read again,
// and added to data of the user's (a maintainer in NVIDIA/nccl issue 1428: twice to three times).
constexpr double memory_bytes_a_byte = 3;

// --- the formulas ---

struct Group {
  Collective what;
  double bytes, ranks, nodes, node_ranks;
  double wire;  // [B/s] that a ring puts through its narrowest link, all channels together
  Generation generation;
  double most_ll() const {
    return generation.most_ll[nodes <= 2 ? static_cast<std::size_t>(nodes) - 1 : 2];
  }
  // LL receives each word by itself; only the network waits for chunks.
  double reached_by(Protocol protocol) const {
    return protocol == ll && nodes == 1 ? 1 : reached(bytes);
  }
};

// Steps from rank to rank, and those of them between nodes.
double steps_of(Collective what, double members) {
  switch (what) {
    case Collective::all_reduce:
      return 2 * (members - 1);
    case Collective::broadcast:
      return members;
    default:
      return members - 1;
  }
}

// What an algorithm costs, and what else it takes of each GPU.
struct Algorithm {
  CollectiveCost cost;
  double most_channels;
  double bytes_on_link;  // of a GPU, per byte of the vector
};

Algorithm ring(const Group& g, Protocol protocol) {
  double bus = g.wire;
  if (protocol == ll) bus = std::min(g.most_ll(), bus * 0.5);
  if (protocol == ll128) bus *= ll128_payload;
  const double steps = steps_of(g.what, g.ranks);
  double latency = ring_base[protocol];
  if (g.what == Collective::broadcast) {  // its chunks follow each other: one step is seen
    latency += (g.nodes > 1 ? ring_network_step : ring_nvlink_step)[protocol];
  } else {
    double within = ring_nvlink_step[protocol];
    if (g.nodes > 1) {
      within = std::max(within, g.generation.network_overhead * (protocol == simple ? 3 : 1));
    }
    const double between = g.nodes > 1 ? steps_of(g.what, g.nodes) : 0;
    latency += (steps - between) * within + between * ring_network_step[protocol];
  }
  if (protocol == simple && g.nodes > 1 && g.what == Collective::all_reduce) {
    latency *= ring_plateau;
  }
  return {{latency, g.bytes * steps / (bus * g.ranks * g.reached_by(protocol)), g.nodes > 1,
           std::string("ring ") + protocol_names[protocol]},
          nccl_ring_channels,
          steps / g.ranks};
}

// Only of an all-reduce: up to the root and down again.
Algorithm tree(const Group& g, Protocol protocol) {
  double bus = g.wire * 0.92;
  if (protocol == ll) bus = std::min(bus / 3.8, g.most_ll());
  if (protocol == ll128) bus *= g.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0;
  const double size = std::floor(std::log2(std::max(g.bytes / 64, 1.0)));
  if (size < 23) bus *= tree_correction[protocol][static_cast<std::size_t>(size)];
  const double latency =
      tree_base[protocol] + 2 * ((g.node_ranks - 1) * tree_nvlink_step[protocol] +
                                 std::floor(std::log2(g.nodes)) * tree_network_step[protocol]);
  return {{latency, g.bytes / (bus * 0.5 * g.reached_by(protocol)), g.nodes > 1,
           std::string("tree ") + protocol_names[protocol]},
          nccl_ring_channels,
          steps_of(g.what, g.ranks) / g.ranks};
}

// Each rank sends a part to each other, to those of its node over NVLink and to the rest through
// its own way to the network, both at once. NCCL has no formula for it: its maker says that the
// network carries what leaves the node, and that a rank has the bandwidth of its own NIC
// (NVIDIA/nccl-tests issues 130 and 267). The latency is that of one step of Simple, by which
// NCCL sends point to point.
Algorithm exchange(const Group& g, double nvlink, double network) {
  const double a_rank = g.bytes / (g.ranks * reached(g.bytes));
  const double within = a_rank * (g.node_ranks - 1) / nvlink;
  const double between = a_rank * (g.ranks - g.node_ranks) / network;
  const bool is_between = between > within;
  const double step = g.nodes > 1 ? ring_network_step[simple] : ring_nvlink_step[simple];
  return {{ring_base[simple] + step, std::max(within, between), is_between, "point to point"},
          nccl_point_to_point_channels,
          (g.ranks - 1) / g.ranks};
}

// The switch adds what the GPUs send it (NVLS): a byte crosses each GPU's link once in each
// direction, whatever the number of ranks.
Algorithm by_switch(const Group& g, double seconds_a_byte) {
  return {{nvls_latency, g.bytes * seconds_a_byte / reached(g.bytes), false, "NVLS"},
          nccl_nvls_channels,
          switch_bytes_a_byte(g.ranks)};
}

CollectiveCost with_claims(Algorithm chosen, const Group& g) {
  CollectiveCost& cost = chosen.cost;
  cost.channels = std::clamp(std::floor(g.bytes / bytes_a_channel), 1.0, chosen.most_channels);
  cost.memory_bytes = memory_bytes_a_byte * chosen.bytes_on_link * g.bytes;
  return std::move(cost);
}

}  // namespace

std::string CollectiveCost::bound() const {
  return latency_seconds > transfer_seconds ? "latency" : network ? "network" : "link";
}

bool has_collectives(const DeviceSpec& device) {
  return device.find("node_gpus") && device.find("nvlink_ring_bytes_per_second") &&
         device.find("network_bytes_per_second");
}

CollectiveCost collective_cost(Collective what, double bytes, int ranks, const DeviceSpec& device) {
  const double nodes = std::ceil(ranks / device["node_gpus"]);
  const double node_ranks = ranks / nodes;
  // Every GPU of a node has its own way to the network, and a ring's channels use them all.
  const double nvlink = device["nvlink_ring_bytes_per_second"];
  const double wire =
      nodes > 1 ? std::min(nvlink, node_ranks * device["network_bytes_per_second"]) : nvlink;
  const Group g{what,
                bytes,
                static_cast<double>(ranks),
                nodes,
                node_ranks,
                wire,
                device.compute_capability().first >= 9 ? hopper : ampere};

  if (what == Collective::all_to_all) {
    return with_claims(exchange(g, nvlink, device["network_bytes_per_second"]), g);
  }
  Algorithm best = ring(g, ll);
  const auto offer = [&](Algorithm other) {
    if (other.cost.seconds() < best.cost.seconds()) best = std::move(other);
  };
  for (const Protocol protocol : {ll, ll128, simple}) {
    offer(ring(g, protocol));
    if (what == Collective::all_reduce) offer(tree(g, protocol));
  }
  const bool adds = device.find("nvlink_sharp_bytes_per_second").has_value();
  if (what == Collective::all_reduce && nodes == 1 && adds) {
    offer(by_switch(g, switch_seconds_a_byte(device)));
  }
  return with_claims(std::move(best), g);
}

}  // namespace gpubench::model
