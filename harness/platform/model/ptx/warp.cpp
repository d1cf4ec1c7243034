#include "harness/platform/model/ptx/warp.hpp"

#include <algorithm>

#include "harness/platform/model/ptx/block.hpp"

namespace gpubench::model::ptx {

void Warp::prepare(const Program& program) {
  constexpr std::size_t alignment = 64;
  if (storage_.size() < program.file_bytes + alignment) {
    storage_.resize(program.file_bytes + alignment);
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(storage_.data());
  file_ = storage_.data() + (alignment - begin % alignment) % alignment;
  defined_before_.assign(program.registers, 0);
  defined_before_[always_defined] = ~Mask{0};
  for (const auto& [place, bits] : program.constants) {
    if (place.bytes == bytes_of(Type::pred)) {
      predicate(place.offset) = bits != 0 ? ~Mask{0} : 0;
    } else {
      for (unsigned i = 0; i < lanes; ++i) set_value(place, i, bits);
    }
    defined_before_[place.number] = ~Mask{0};
  }
  for (const auto& [what, place] : program.specials) defined_before_[place.number] = ~Mask{0};
}

void Warp::begin(const Program& program, Mask exists_, bool traced) {
  exists = live = exists_;
  defined_ = defined_before_;
  fragments.assign(1, {exists, 0, never, never, 0, Fragment::State::ready});
  requests.clear();
  interval = cluster_phase = 0;
  fma_steps = 0;
  clock = fenced_at = 0;
  if (traced) {
    tallies = {};
    load_chains.fill({});
    fma_chains.fill({});
  }
  if (program.uses_warpgroups) {
    touched_at.assign(program.registers, 0);
    pending.assign(program.registers, 0);
  }
  products.clear();
  product_groups = 0;
  tensor_loads.clear();
  tensor_stores.clear();
  lacks_tensor_fence = owes_tensor_fence = 0;
}

void Warp::require(std::uint32_t number_of_register, Mask mask, const char* what) {
  const Mask lacking = mask & ~defined_[number_of_register];
  if (lacking != 0) throw Fault{std::string(what) + " that was never computed", lacking};
}

void Warp::touch(const Op& op) {
  const auto one = [&](std::uint32_t register_number) {
    if (register_number <= nowhere) return;
    if (pending[register_number]) {
      throw Fault{"use of a register of wgmma or tcgen05.ld that was not waited for", 0};
    }
    touched_at[register_number] = clock;
  };
  for (const std::uint32_t each : {op.dn, op.an, op.bn, op.cn}) one(each);
  if (op.extra == nullptr) return;
  for (const auto* list : {&op.extra->destinations, &op.extra->sources, &op.extra->more}) {
    for (const Register& r : *list) one(r.number);
  }
}

void Warp::note_load(model::Space space, unsigned bytes, Mask mask,
                     const std::array<std::uint64_t, lanes>& addresses, const std::byte* base) {
  if (bytes != 4 && bytes != 8) return;
  for_lanes(mask, [&](unsigned i) {
    std::uint64_t value = 0;
    std::memcpy(&value, base + addresses[i], bytes);
    load_chains[i].note(addresses[i], value, space);
  });
}

void Warp::note(EventKind kind, unsigned bytes, Mask mask, const std::uint64_t* addresses,
                const Op& op) {
  WarpRequest& request = requests.emplace_back();
  request.event = make_event(&op, kind, bytes);
  request.lanes = mask;
  request.interval = interval;
  std::copy_n(addresses, lanes, request.address.begin());
}

}  // namespace gpubench::model::ptx
