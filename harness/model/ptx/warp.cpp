#include "harness/model/ptx/warp.hpp"

#include <algorithm>

#include "harness/model/ptx/block.hpp"

namespace gpubench::model::ptx {

void Warp::begin(const Program& program, Mask exists_) {
  exists = live = exists_;
  constexpr std::size_t alignment = 64;
  if (storage_.size() < program.file_bytes + alignment)
    storage_.resize(program.file_bytes + alignment);
  const auto begin = reinterpret_cast<std::uintptr_t>(storage_.data());
  file_ = storage_.data() + (alignment - begin % alignment) % alignment;
  defined_.assign(program.registers, 0);
  defined_[always_defined] = ~Mask{0};
  for (const auto& [place, bits] : program.constants) {
    for (unsigned i = 0; i < lanes; ++i) set_value(place, i, bits);
    defined_[place.number] = ~Mask{0};
  }
  fragments.assign(1, {exists, 0, never, never, 0, Fragment::State::ready});
  requests.clear();
  tallies = {};
  fma_steps = 0;
  load_chains.fill({});
  fma_chains.fill({});
  clock = fenced_at = 0;
  if (program.uses_warpgroups) {
    touched_at.assign(program.registers, 0);
    pending.assign(program.registers, 0);
  }
  products.clear();
  product_groups = 0;
}

void Warp::require(std::uint32_t number_of_register, Mask mask, const char* what) {
  const Mask lacking = mask & ~defined_[number_of_register];
  if (lacking != 0) throw Fault{std::string(what) + " that was never computed", lacking};
}

std::uint64_t Warp::value(const Register& r, unsigned lane) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, file_ + r.offset + lane * r.bytes, r.bytes);
  return bits;
}

void Warp::set_value(const Register& r, unsigned lane, std::uint64_t bits) {
  std::memcpy(file_ + r.offset + lane * r.bytes, &bits, r.bytes);
}

void Warp::note_load(bool shared, unsigned bytes, Mask mask,
                     const std::array<std::uint64_t, lanes>& addresses, const std::byte* base) {
  if (bytes != 4 && bytes != 8) return;
  for_lanes(mask, [&](unsigned i) {
    std::uint64_t value = 0;
    std::memcpy(&value, base + addresses[i], bytes);
    load_chains[i].note(addresses[i], value, shared);
  });
}

void Warp::note(EventKind kind, unsigned bytes, Mask mask, const std::uint64_t* addresses,
                const Op& op) {
  WarpRequest& request = requests.emplace_back();
  request.event = make_event(&op, kind, bytes);
  request.lanes = mask;
  std::copy_n(addresses, lanes, request.address.begin());
}

}  // namespace gpubench::model::ptx
