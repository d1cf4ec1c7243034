#include "harness/platform/model/emulator/counts.hpp"

#include <algorithm>
#include <bit>

namespace gpubench::model {

AccessCounts& AccessCounts::operator+=(const AccessCounts& other) {
  requests += other.requests;
  lanes += other.lanes;
  bytes += other.bytes;
  sectors += other.sectors;
  lines += other.lines;
  tag_wavefronts += other.tag_wavefronts;
  wavefronts += other.wavefronts;
  ideal_wavefronts += other.ideal_wavefronts;
  ideal_sectors += other.ideal_sectors;
  return *this;
}

AccessCounts AccessCounts::scaled(double factor) const {
  return {requests * factor,     lanes * factor,
          bytes * factor,        sectors * factor,
          lines * factor,        tag_wavefronts * factor,
          wavefronts * factor,   ideal_wavefronts * factor,
          ideal_sectors * factor};
}

namespace {

constexpr std::array<double Counts::*, arithmetic_units> by_lane = {
    &Counts::fma_fp32,  &Counts::fma_fp64, &Counts::fma_fp16x2, &Counts::fma_bf16x2,
    &Counts::mad_int32, &Counts::add_fp32, &Counts::max_fp32,   &Counts::pack_16x2};

}  // namespace

void Counts::add(Arithmetic unit, unsigned operations, unsigned lanes) {
  issued[static_cast<std::size_t>(unit)] += operations;
  this->*by_lane[static_cast<std::size_t>(unit)] += static_cast<double>(operations) * lanes;
}

double Counts::shared_wavefronts() const {
  double sum = 0;
  for (const Access kind : {Access::load, Access::store, Access::atomic}) {
    sum += at(Space::shared, kind).wavefronts;
  }
  return sum;
}

double Counts::arithmetic_lanes() const {
  double sum = 0;
  for (const auto of_unit : by_lane) sum += this->*of_unit;
  return sum;
}

Counts& Counts::operator+=(const Counts& other) {
  for (std::size_t s = 0; s < access.size(); ++s) {
    for (std::size_t o = 0; o < access[s].size(); ++o) access[s][o] += other.access[s][o];
  }
  barriers += other.barriers;
  cluster_barriers += other.cluster_barriers;
  for (std::size_t c = 0; c < warp_operation_kinds; ++c)
    warp_operations[c] += other.warp_operations[c];
  async_copies += other.async_copies;
  bulk_loads += other.bulk_loads;
  bulk_stores += other.bulk_stores;
  copied_wavefronts += other.copied_wavefronts;
  packed_wavefronts += other.packed_wavefronts;
  fragments_ahead += other.fragments_ahead;
  for (std::size_t u = 0; u < issued.size(); ++u) issued[u] += other.issued[u];
  async_loads += other.async_loads;
  for (const auto sum : by_lane) this->*sum += other.*sum;
  special += other.special;
  for (std::size_t t = 0; t < tensor_types; ++t) {
    tensor_flops[t] += other.tensor_flops[t];
    warpgroup_flops[t] += other.warpgroup_flops[t];
    awaited_flops[t] += other.awaited_flops[t];
  }
  awaiting_warps += other.awaiting_warps;
  return *this;
}

Counts Counts::scaled(double factor) const {
  Counts result = *this;
  for (auto& space : result.access) {
    for (AccessCounts& counts : space) counts = counts.scaled(factor);
  }
  result.barriers *= factor;
  result.cluster_barriers *= factor;
  for (double& operations : result.warp_operations) operations *= factor;
  result.async_copies *= factor;
  result.bulk_loads = bulk_loads.scaled(factor);
  result.bulk_stores *= factor;
  result.copied_wavefronts *= factor;
  result.packed_wavefronts *= factor;
  result.fragments_ahead *= factor;
  for (double& issues : result.issued) issues *= factor;
  result.async_loads *= factor;
  for (const auto sum : by_lane) result.*sum *= factor;
  result.special *= factor;
  for (double& flops : result.tensor_flops) flops *= factor;
  for (double& flops : result.warpgroup_flops) flops *= factor;
  for (double& flops : result.awaited_flops) flops *= factor;
  result.awaiting_warps *= factor;
  return result;
}

std::vector<std::pair<std::string, double>> instructions_of(const Counts& counts) {
  std::vector<std::pair<std::string, double>> result;
  const auto add = [&](const char* name, double instructions) {
    if (instructions > 0) result.emplace_back(name, instructions);
  };
  const auto requests = [&](Space space, Access kind) { return counts.at(space, kind).requests; };
  // An asynchronous copy is one instruction, of two requests or more.
  add("global_load", requests(Space::global, Access::load) - counts.async_loads);
  add("global_store", requests(Space::global, Access::store));
  add("global_atomic", requests(Space::global, Access::atomic));
  add("shared_load", requests(Space::shared, Access::load));
  add("shared_store",
      requests(Space::shared, Access::store) - counts.async_copies - counts.bulk_stores);
  add("shared_atomic", requests(Space::shared, Access::atomic));
  add("remote_load", requests(Space::remote, Access::load));
  add("remote_store", requests(Space::remote, Access::store));
  add("remote_atomic", requests(Space::remote, Access::atomic));
  add("async_copy", counts.async_copies);
  add("fma_fp32", counts.issues(Arithmetic::fma_fp32));
  add("fma_fp64", counts.issues(Arithmetic::fma_fp64));
  add("fma_fp16x2", counts.issues(Arithmetic::fma_fp16x2));
  add("fma_bf16x2", counts.issues(Arithmetic::fma_bf16x2));
  add("mad_int32", counts.issues(Arithmetic::mad_int32));
  add("add_fp32", counts.issues(Arithmetic::add_fp32));
  add("max_fp32", counts.issues(Arithmetic::max_fp32));
  add("pack_16x2", counts.issues(Arithmetic::pack_16x2));
  add("special", counts.special);
  add("tensor", counts.at(WarpOperation::matrices));
  add("shuffle", counts.at(WarpOperation::shuffle));
  add("vote", counts.at(WarpOperation::vote));
  add("barrier", counts.barriers);
  add("warp_barrier", counts.at(WarpOperation::warp_barrier));
  return result;
}

namespace {

unsigned tag_bank(std::uint64_t line) {
  for (unsigned bits = 32; bits >= 2; bits /= 2) line ^= line >> bits;
  return static_cast<unsigned>(line % tag_banks);
}

}  // namespace

Sectors sectors_of(const WarpRequest& request) {
  Sectors result;
  const unsigned bytes = bytes_of(request.event);
  bool ascending = true;
  for (std::uint32_t rest = request.lanes; rest != 0; rest &= rest - 1) {
    const std::uint64_t address = request.address[static_cast<std::size_t>(std::countr_zero(rest))];
    const std::uint64_t last = (address + bytes - 1) / sector_bytes;
    for (std::uint64_t sector = address / sector_bytes; sector <= last; ++sector) {
      if (result.count > 0) {
        const std::uint64_t previous = result.id[result.count - 1];
        if (sector == previous) continue;
        ascending &= sector > previous;
      }
      result.id[result.count++] = sector;
    }
  }
  if (!ascending) {
    const auto begin = result.id.begin();
    std::sort(begin, begin + result.count);
    result.count = static_cast<unsigned>(std::unique(begin, begin + result.count) - begin);
  }
  constexpr unsigned sectors_a_line = line_bytes / sector_bytes;
  std::array<unsigned, tag_banks> in_bank{};
  for (unsigned i = 0; i < result.count; ++i) {
    const std::uint64_t line = result.id[i] / sectors_a_line;
    if (i > 0 && line == result.id[i - 1] / sectors_a_line) continue;
    ++result.lines;
    ++in_bank[tag_bank(line)];
  }
  result.tag_wavefronts = *std::max_element(in_bank.begin(), in_bank.end());
  return result;
}

namespace {

// Whether no bank is asked for two words by lanes of at most 4 bytes each: by far the usual case.
bool is_free_of_conflicts(const WarpRequest& request) {
  std::array<std::uint64_t, shared_banks> word_of_bank;
  std::uint32_t used = 0;
  for (std::uint32_t rest = request.lanes; rest != 0; rest &= rest - 1) {
    const std::uint64_t word =
        request.address[static_cast<std::size_t>(std::countr_zero(rest))] / bank_bytes;
    const auto bank = static_cast<std::size_t>(word % shared_banks);
    if ((used >> bank & 1) != 0 && word_of_bank[bank] != word) return false;
    used |= 1u << bank;
    word_of_bank[bank] = word;
  }
  return true;
}

unsigned words_of(const WarpRequest& request) {
  return std::max(1u, bytes_of(request.event) / bank_bytes);
}

// Whether all active lanes whose numbers differ in that bit alone ask for the same address.
bool pairs_agree(const WarpRequest& request, unsigned bit) {
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    const std::uint32_t both = 1u << lane | 1u << (lane ^ bit);
    if ((request.lanes & both) != both) continue;
    if (request.address[lane] != request.address[lane ^ bit]) return false;
  }
  return true;
}

// Passes that serve so many lanes each, which ask for no more than 32 different words.
unsigned passes_of(const WarpRequest& request, unsigned lanes_a_pass) {
  const unsigned words = words_of(request);
  unsigned total = 0;
  for (unsigned first = 0; first < warp_lanes; first += lanes_a_pass) {
    // Distinct words by bank; at most 32 words in a pass.
    std::array<std::array<std::uint64_t, warp_lanes>, shared_banks> in_bank;
    std::array<unsigned, shared_banks> depth{};
    unsigned deepest = 0;
    for (unsigned lane = first; lane < first + lanes_a_pass; ++lane) {
      if ((request.lanes >> lane & 1) == 0) continue;
      for (unsigned w = 0; w < words; ++w) {
        const std::uint64_t word = request.address[lane] / bank_bytes + w;
        const auto bank = static_cast<std::size_t>(word % shared_banks);
        const auto end = in_bank[bank].begin() + depth[bank];
        if (std::find(in_bank[bank].begin(), end, word) != end) continue;
        in_bank[bank][depth[bank]++] = word;
        deepest = std::max(deepest, depth[bank]);
      }
    }
    total += deepest;
  }
  return total;
}

}  // namespace

unsigned wavefronts_of(const WarpRequest& request) {
  const unsigned words = words_of(request);
  if (words == 1 && is_free_of_conflicts(request)) return 1;
  return passes_of(request, warp_lanes / words);
}

unsigned packed_wavefronts_of(const WarpRequest& request) {
  const unsigned words = words_of(request);
  if (words == 1 || !(pairs_agree(request, 1) || pairs_agree(request, 2))) return 0;
  return wavefronts_of(request) - passes_of(request, 2 * warp_lanes / words);
}

unsigned ideal_wavefronts_of(const WarpRequest& request) {
  const unsigned lanes_a_pass = warp_lanes / words_of(request);
  unsigned passes = 0;
  for (unsigned first = 0; first < warp_lanes; first += lanes_a_pass) {
    const std::uint32_t mask =
        lanes_a_pass == warp_lanes ? ~0u : ((1u << lanes_a_pass) - 1) << first;
    passes += (request.lanes & mask) != 0;
  }
  return passes;
}

}  // namespace gpubench::model
