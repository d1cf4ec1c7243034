// A warp at work: its registers, and the groups of lanes that go their own ways.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "harness/platform/model/emulator/block_result.hpp"
#include "harness/platform/model/emulator/fma_chain.hpp"
#include "harness/platform/model/emulator/load_chain.hpp"
#include "harness/platform/model/emulator/warp_requests.hpp"
#include "harness/platform/model/emulator/warpgroup_products.hpp"
#include "harness/platform/model/ptx/program.hpp"

namespace gpubench::model::ptx {

class Block;

// What a kernel does wrong, in words; the block adds where and who.
struct Fault {
  std::string what;
  Mask lanes = 0;                  // 0: the whole warp
  bool is_illegal_access = false;  // outside all memory, or not aligned
};

template <class Visit>
[[gnu::always_inline]] inline void for_lanes(Mask mask, Visit&& visit) {
  for (Mask rest = mask; rest != 0; rest &= rest - 1) {
    visit(static_cast<unsigned>(std::countr_zero(rest)));
  }
}

// Lanes that are at one place. `reconverge`: where they wait for the others of their parent.
struct Fragment {
  enum class State : std::uint8_t { free, ready, joining, waiting };
  Mask mask = 0;
  std::uint32_t pc = 0, reconverge = never;
  std::uint32_t parent = never;
  std::uint32_t children = 0;
  State state = State::free;
};

// How often a warp issued what, by how many lanes took part.
using TallyByLanes = std::array<std::array<std::uint32_t, lanes + 1>, 16>;

class Warp {
 public:
  Warp(Block& of, unsigned index) : block(of), number(index) {}

  // Has the program's constants from now on.
  void prepare(const Program& program);
  // Ready for a block of it; `exists`: its lanes.
  void begin(const Program& program, Mask exists, bool traced);

  template <class T>
  T* row(std::uint32_t offset) {
    return reinterpret_cast<T*>(file_ + offset);
  }
  Mask& predicate(std::uint32_t offset) { return *row<Mask>(offset); }
  Mask& defined(std::uint32_t number_of_register) { return defined_[number_of_register]; }
  void define(const Register& r, Mask mask) { defined_[r.number] |= mask; }
  // The lanes of `mask` in which all of them hold something.
  template <class Registers>
  Mask defined_in(const Registers& registers, Mask mask) {
    for (const Register& r : registers) mask &= defined_[r.number];
    return mask;
  }
  // A fault if a lane of the mask has nothing there; `what` says what it was to be.
  void require(std::uint32_t number_of_register, Mask mask, const char* what);
  // An operation uses its registers: none of which must be pending.
  void touch(const Op& op);
  // A lane's value, whatever the register's width.
  std::uint64_t value(const Register& r, unsigned lane) {
    switch (r.bytes) {
      case 1:
        return row<std::uint8_t>(r.offset)[lane];
      case 2:
        return row<std::uint16_t>(r.offset)[lane];
      case 4:
        return row<std::uint32_t>(r.offset)[lane];
      default:
        return row<std::uint64_t>(r.offset)[lane];
    }
  }
  void set_value(const Register& r, unsigned lane, std::uint64_t bits) {
    switch (r.bytes) {
      case 1:
        row<std::uint8_t>(r.offset)[lane] = static_cast<std::uint8_t>(bits);
        break;
      case 2:
        row<std::uint16_t>(r.offset)[lane] = static_cast<std::uint16_t>(bits);
        break;
      case 4:
        row<std::uint32_t>(r.offset)[lane] = static_cast<std::uint32_t>(bits);
        break;
      default:
        row<std::uint64_t>(r.offset)[lane] = bits;
    }
  }

  void add_fragment(const Fragment& part) {
    for (Fragment& free : fragments) {
      if (free.state != Fragment::State::free) continue;
      free = part;
      return;
    }
    fragments.push_back(part);
  }
  void tally(Tally what, Mask mask) {
    ++tallies[static_cast<std::size_t>(what)][static_cast<unsigned>(std::popcount(mask))];
    fma_steps += what == Tally::fma_fp32 ? 1 : 0;
  }
  // A load that lanes wait for: whether its address comes from the one before.
  void note_load(model::Space space, unsigned bytes, Mask mask,
                 const std::array<std::uint64_t, lanes>& addresses, const std::byte* base);
  void note(EventKind kind, unsigned bytes, Mask mask, const std::uint64_t* addresses,
            const Op& op);

  Block& block;
  const unsigned number;
  Mask exists = 0, live = 0;
  Mask running = 0;  // the lanes of the fragment at work
  std::vector<Fragment> fragments;
  // In a traced block only.
  std::vector<WarpRequest> requests;
  std::uint32_t interval = 0;       // barriers of all threads that it has passed
  std::uint32_t cluster_phase = 0;  // of the cluster's barrier that it has come to, or 0
  std::uint32_t grid_phase = 0;     // the word of the grid's barrier when it came to that
  TallyByLanes tallies{};
  std::uint64_t fma_steps = 0;
  std::array<LoadChain, lanes> load_chains;
  std::array<FmaChain, lanes> fma_chains;

  // --- what only some instructions need ---
  std::uint64_t clock = 0;                // operations that it has done
  std::vector<std::uint64_t> touched_at;  // by register, of a kernel with wgmma or tcgen05.ld
  std::uint64_t fenced_at = 0;
  std::vector<char> pending;  // by register: of a product or a load under way
  struct Product {
    const Op* op = nullptr;
    std::uint64_t a = 0, b = 0;  // descriptors
    bool adds = true, is_done = false;
    std::uint32_t group = 0;
  };
  std::vector<Product> products;  // of wgmma, not waited for yet
  std::uint32_t product_groups = 0;
  WarpgroupProducts awaited_products;
  struct TensorLoad {
    const Op* op = nullptr;
    std::uint32_t address = 0;
    bool is_done = false;
  };
  std::vector<TensorLoad> tensor_loads;  // tcgen05.ld, not waited for yet
  struct TensorStore {
    std::uint32_t address = 0;
    std::vector<std::array<std::uint32_t, lanes>> columns;
  };
  std::vector<TensorStore> tensor_stores;  // likewise tcgen05.st, of those that are late
  // Lanes that have waited for others with no tcgen05.fence::after_thread_sync behind that, and
  // lanes with no fence::before_thread_sync behind a tcgen05.ld or st.
  Mask lacks_tensor_fence = 0, owes_tensor_fence = 0;
  // The lanes tell others how far they are, or have been told.
  void note_telling(Mask mask) const {
    const Mask owing = owes_tensor_fence & mask;
    if (owing == 0) return;
    throw Fault{"arrival behind tcgen05.ld or st without tcgen05.fence::before_thread_sync", owing};
  }
  void note_told(Mask mask) { lacks_tensor_fence |= mask; }

 private:
  std::vector<std::byte> storage_;
  std::byte* file_ = nullptr;
  std::vector<Mask> defined_, defined_before_;
};

}  // namespace gpubench::model::ptx
