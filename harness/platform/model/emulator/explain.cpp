#include "harness/platform/model/emulator/explain.hpp"

#include <algorithm>
#include <bit>
#include <set>

#include "harness/platform/model/emulator/counts.hpp"
#include "harness/platform/model/emulator/source_location.hpp"

namespace gpubench::model {
namespace {

template <class Visit>
void each_lane(const WarpRequest& request, Visit&& visit) {
  for (std::uint32_t rest = request.lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    visit(lane, request.address[lane]);
  }
}

}  // namespace

unsigned ideal_sectors_of(const WarpRequest& request) {
  std::set<std::uint64_t> bytes;
  each_lane(request, [&](unsigned, std::uint64_t address) {
    for (unsigned i = 0; i < bytes_of(request.event); ++i) bytes.insert(address + i);
  });
  return (static_cast<unsigned>(bytes.size()) + sector_bytes - 1) / sector_bytes;
}

std::vector<ExplainedAccess::Wavefront> wavefront_table(const WarpRequest& request,
                                                        std::uint64_t begin) {
  const unsigned words = std::max(1u, bytes_of(request.event) / bank_bytes);
  const unsigned lanes_a_pass = warp_lanes / words;
  // `begin` may lie in any bank: beginning to count there turns all of them by as much.
  const std::uint64_t first_word = begin / bank_bytes;
  std::vector<ExplainedAccess::Wavefront> table;
  for (unsigned first = 0; first < warp_lanes; first += lanes_a_pass) {
    std::array<std::vector<std::uint64_t>, shared_banks> asked;  // distinct words, in order
    const std::size_t done = table.size();
    each_lane(request, [&](unsigned lane, std::uint64_t address) {
      if (lane < first || lane >= first + lanes_a_pass) return;
      for (unsigned w = 0; w < words; ++w) {
        const std::uint64_t word = address / bank_bytes + w;
        const auto bank = static_cast<std::size_t>((word - first_word) % shared_banks);
        if (std::find(asked[bank].begin(), asked[bank].end(), word) != asked[bank].end()) continue;
        asked[bank].push_back(word);
        if (done + asked[bank].size() > table.size()) table.emplace_back().fill(-1);
        table[done + asked[bank].size() - 1][bank] = static_cast<int>(lane);
      }
    });
  }
  return table;
}

void Explainer::add(const WarpRequest& request, Space space) {
  const std::pair key(request.event, space != Space::global);
  const auto first = static_cast<std::size_t>(std::countr_zero(request.lanes));
  auto site =
      static_cast<std::size_t>(std::find(sites_.begin(), sites_.end(), key) - sites_.begin());
  if (site == sites_.size()) {
    sites_.push_back(key);
    ExplainedAccess& access = accesses_.emplace_back();
    const auto [place, begin] = home_(request.address[first]);
    const EventKind kind = as_plain(kind_of(request.event));
    access.where = source_location(reinterpret_cast<const void*>(code_address_of(request.event)));
    access.shared = key.second;
    access.kind = kind == EventKind::load ? "load" : kind == EventKind::store ? "store" : "atomic";
    access.bytes = bytes_of(request.event);
    access.place = place;
    each_lane(request, [&, from = begin](unsigned lane, std::uint64_t address) {
      access.lanes.push_back({lane, static_cast<std::int64_t>(address - from)});
    });
    if (access.shared) access.wavefronts = wavefront_table(request, begin);
  }
  ExplainedAccess& access = accesses_[site];
  access.requests += 1;
  access.active_lanes += std::popcount(request.lanes);
  access.moved += access.shared ? wavefronts_of(request) : sectors_of(request).count;
  access.ideal += access.shared ? ideal_wavefronts_of(request) : ideal_sectors_of(request);
}

}  // namespace gpubench::model
