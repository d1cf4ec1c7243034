#include "tests/model/flow/oracle.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "tests/model/flow/arithmetic.hpp"

namespace gpubench::flow {
namespace {

using Mask = std::uint32_t;
using model::Access;
using model::EventKind;
using model::Space;
using model::warp_lanes;

template <class Predicate>
Mask those(Mask mask, Predicate&& predicate) {
  Mask result = 0;
  for (Mask rest = mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    if (predicate(lane)) result |= Mask{1} << lane;
  }
  return result;
}

class Block {
 public:
  explicit Block(const std::vector<unsigned>& in) : in_(in) {
    done.out.resize(output_words);
    done.bin.resize(bins);
    for (unsigned word = 0; word < rows.size(); ++word) {
      rows[word] = columns[word] = word / threads;
    }
  }

  // Words of one array, one of each lane. Where an array begins is a multiple of what counts.
  template <class Word>
  void count(Space space, Access kind, Mask mask, Word&& word) {
    if (mask == 0) return;
    constexpr EventKind events[] = {EventKind::load, EventKind::store, EventKind::atomic};
    model::WarpRequest request;
    request.event = model::make_event(nullptr, events[static_cast<int>(kind)], sizeof(unsigned));
    request.lanes = mask;
    those(mask, [&](unsigned lane) {
      request.address[lane] = sizeof(unsigned) * std::uint64_t{word(lane)};
      return true;
    });
    model::AccessCounts& sum = done.counts.at(space, kind);
    const auto lanes = static_cast<unsigned>(std::popcount(mask));
    sum.requests += 1;
    sum.lanes += lanes;
    sum.bytes += lanes * sizeof(unsigned);
    if (space == Space::shared) {
      sum.wavefronts += model::wavefronts_of(request);
    } else {
      sum.sectors += model::sectors_of(request).count;
    }
  }

  unsigned in(unsigned word) const { return in_[word]; }

  Outcome done;
  std::array<unsigned, words_of_site * threads> rows{}, columns{};

 private:
  const std::vector<unsigned>& in_;
};

class Warp {
 public:
  Warp(Block& block, unsigned first) : block_(block), first_(first) {
    for (unsigned lane = 0; lane < warp_lanes; ++lane) a_[lane] = mixed(first + lane, given);
  }

  void run(const List& body) {
    const Mask all = those(~Mask{0}, [&](unsigned lane) { return thread(lane) < threads; });
    prepare(all);
    const Mask fell_through = run(body, {all, 0, 0}).on;
    const Mask stores = fell_through | finished_;
    block_.count(Space::global, Access::store, stores, [&](unsigned lane) { return thread(lane); });
    those(stores, [&](unsigned lane) {
      block_.done.out[thread(lane)] = a_[lane] + r_[lane];
      return true;
    });
  }

 private:
  struct Masks {
    Mask on, broken, continued;
  };

  unsigned thread(unsigned lane) const { return first_ + lane; }
  unsigned decides(const Statement& s, unsigned lane) const {
    return s.is_alike ? given : a_[lane];
  }

  void prepare(Mask all) {
    for (unsigned i = 0; i < words_of_site; ++i) {
      const auto word = [&](unsigned lane) { return i * threads + thread(lane); };
      block_.count(Space::shared, Access::store, all, word);
      block_.count(Space::shared, Access::store, all, word);
    }
    block_.count(Space::shared, Access::store,
                 those(all, [&](unsigned lane) { return thread(lane) < bins; }),
                 [&](unsigned lane) { return thread(lane); });
    block_.done.counts.barriers += 1;
  }

  Masks run(const List& list, Masks masks) {
    for (const Statement& s : list) {
      if (masks.on == 0) break;
      masks = run(s, masks);
    }
    return masks;
  }

  Masks run(const Statement& s, Masks masks) {
    switch (s.kind) {
      case Kind::branch: {
        const Mask taken =
            those(masks.on, [&](unsigned l) { return holds(decides(s, l), s.site, s.amount); });
        const Masks a = run(s.body, {taken, masks.broken, masks.continued});
        const Masks b = run(s.otherwise, {masks.on & ~taken, a.broken, a.continued});
        return {a.on | b.on, b.broken, b.continued};
      }
      case Kind::choice: {
        Masks after{0, masks.broken, masks.continued};
        const auto ways = static_cast<unsigned>(s.cases.size());
        std::array<Mask, 8> taken{};
        for (unsigned i = 0; i < ways; ++i) {
          taken[i] =
              those(masks.on, [&](unsigned l) { return mixed(decides(s, l), s.site) % ways == i; });
        }
        for (unsigned i = 0; i < ways; ++i) {
          const Masks one = run(s.cases[i], {taken[i], after.broken, after.continued});
          after = {after.on | one.on, one.broken, one.continued};
        }
        return after;
      }
      case Kind::counted:
      case Kind::tests_first:
      case Kind::tests_last:
      case Kind::tests_within:
        return {run_loop(s, masks.on), masks.broken, masks.continued};
      case Kind::leave:
        return {0, masks.broken | masks.on, masks.continued};
      case Kind::next:
        return {0, masks.broken, masks.continued | masks.on};
      case Kind::finish:
        finished_ |= masks.on;
        return {0, masks.broken, masks.continued};
      case Kind::end:
        return {0, masks.broken, masks.continued};
      case Kind::barrier:
        block_.done.counts.barriers += 1;
        return masks;
      default:
        access(s, masks.on);
        return masks;
    }
  }

  // Returns the lanes that go on behind the loop.
  Mask run_loop(const Statement& s, Mask entering) {
    std::array<unsigned, warp_lanes> trips;
    those(entering, [&](unsigned l) {
      trips[l] = mixed(decides(s, l), s.site) % s.amount;
      return true;
    });
    Mask inside = entering, behind = 0;
    for (unsigned k = 0; inside != 0; ++k) {
      const auto again = [&](Mask mask) {
        const Mask stay = those(mask, [&](unsigned l) {
          return s.kind == Kind::counted ? k < trips[l] : goes_on(a_[l], k + 1, s.site, s.amount);
        });
        behind |= mask & ~stay;
        return stay;
      };
      if (s.kind == Kind::counted || s.kind == Kind::tests_first) inside = again(inside);
      Masks after = run(s.body, {inside, 0, 0});
      if (s.kind == Kind::tests_within) {
        after = run(s.otherwise, {again(after.on), after.broken, after.continued});
      }
      behind |= after.broken;
      inside = after.on | after.continued;
      if (s.kind == Kind::tests_last) inside = again(inside);
    }
    return behind;
  }

  void access(const Statement& s, Mask mask) {
    those(mask, [&](unsigned l) {
      r_[l] = mixed(a_[l]++, s.site);
      return true;
    });
    const bool is_shared = s.kind == Kind::shared_load || s.kind == Kind::shared_store ||
                           s.kind == Kind::shared_atomic;
    const Access kind = s.kind == Kind::load || s.kind == Kind::shared_load     ? Access::load
                        : s.kind == Kind::store || s.kind == Kind::shared_store ? Access::store
                                                                                : Access::atomic;
    block_.count(is_shared ? Space::shared : Space::global, kind, mask,
                 [&](unsigned l) { return word(s, l); });
    those(mask, [&](unsigned l) {
      carry_out(s, l);
      return true;
    });
  }

  unsigned word(const Statement& s, unsigned lane) const {
    const unsigned t = thread(lane), r = r_[lane];
    const unsigned own =
        s.is_row ? r % words_of_site * threads + t : t * words_of_site + r % words_of_site;
    switch (s.kind) {
      case Kind::load:
        return s.is_row ? r % 8 * threads + t : r % input_words;
      case Kind::store:
        return s.site * words_of_site * threads + own;
      case Kind::shared_load:
      case Kind::shared_store:
        return own;
      default:
        return r % bins;
    }
  }

  void carry_out(const Statement& s, unsigned lane) {
    const unsigned at = word(s, lane);
    auto& tile = s.is_row ? block_.rows : block_.columns;
    switch (s.kind) {
      case Kind::load:
        a_[lane] += block_.in(at);
        break;
      case Kind::store:
        block_.done.out[at] = a_[lane];
        break;
      case Kind::atomic:
        block_.done.bin[at] += s.site;
        break;
      case Kind::shared_load:
        a_[lane] += tile[at];
        break;
      case Kind::shared_store:
        tile[at] = a_[lane];
        break;
      default:
        break;
    }
  }

  Block& block_;
  unsigned first_;
  std::array<unsigned, warp_lanes> a_{}, r_{};
  Mask finished_ = 0;
};

}  // namespace

Outcome expected(const Program& program, const std::vector<unsigned>& in) {
  Block block(in);
  for (unsigned first = 0; first < threads; first += warp_lanes) {
    Warp(block, first).run(program.body);
  }
  return std::move(block.done);
}

}  // namespace gpubench::flow
