#include "tests/model/flow/program.hpp"

#include <algorithm>
#include <random>

namespace gpubench::flow {
namespace {

// Where a statement stands.
struct Place {
  unsigned depth = 0;         // of nesting
  unsigned loops = 0;         // around it
  unsigned branches = 0;      // likewise, within the innermost loop; a switch is several
  bool may_leave = false;     // `break` would leave a loop, not a switch
  bool may_continue = false;  // no loop would go on for ever
  bool is_common = true;      // all threads of the block come here together
};

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed), may_return_(seed % 3 != 0) {}

  Program program(unsigned seed) {
    made_.seed = seed;
    while (next_site_ < 8) {
      for (Statement& s : list({})) made_.body.push_back(std::move(s));
    }
    return std::move(made_);
  }

 private:
  // std::uniform_int_distribution differs between libraries.
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }

  static bool jumps(Kind kind) {
    return kind == Kind::leave || kind == Kind::next || kind == Kind::end || kind == Kind::finish;
  }

  // Whether it is a mere return. A condition that no load decides would let the loads before it be
  // moved behind it.
  // Outside of inner loops.
  static bool has(const List& list, Kind kind) {
    return std::ranges::any_of(list, [&](const Statement& s) {
      const bool is_loop = s.kind == Kind::counted || s.kind == Kind::tests_first ||
                           s.kind == Kind::tests_last || s.kind == Kind::tests_within;
      return s.kind == kind || (!is_loop && (has(s.body, kind) || has(s.otherwise, kind))) ||
             std::ranges::any_of(s.cases, [&](const List& one) { return has(one, kind); });
    });
  }

  static bool ends(const List& list) { return !list.empty() && list.front().kind == Kind::end; }

  List list(const Place& place) {
    List result;
    for (unsigned n = 1 + below(3); n > 0; --n) {
      result.push_back(statement(place, result.empty()));
      if (jumps(result.back().kind)) break;  // what follows is dead code
    }
    return result;
  }

  Kind kind_at(const Place& place, bool is_first) {
    if (next_site_ > most_sites / 2 || place.depth > 4) return static_cast<Kind>(below(6));
    const unsigned dice = below(24);
    if (dice < 8) return static_cast<Kind>(below(6));
    if (dice < 13) return Kind::branch;
    if (dice < 14) return Kind::choice;
    if (dice < 20) {
      constexpr Kind loops[] = {Kind::counted,    Kind::counted,    Kind::tests_first,
                                Kind::tests_last, Kind::tests_last, Kind::tests_within};
      return place.loops < 3 ? loops[dice - 14] : Kind::load;
    }
    if (dice < 21 && place.is_common) return Kind::barrier;
    if (place.branches == 0) return Kind::store;
    if (dice < 22 && place.may_leave) return Kind::leave;
    if (dice < 23 && place.may_continue) return Kind::next;
    if (!may_return_) return Kind::atomic;
    // What a lane loaded on its way to a mere return would be dead code.
    return is_first && below(2) == 0 ? Kind::end : Kind::finish;
  }

  Statement statement(const Place& place, bool is_first) {
    Statement s{kind_at(place, is_first)};
    s.site = next_site_++;
    s.depth = place.loops;
    s.is_row = below(2) == 0;
    s.is_alike = below(5) == 0;
    s.amount = 1 + below(7);
    made_.returns |= s.kind == Kind::finish || s.kind == Kind::end;
    made_.meets_early |= (s.kind == Kind::leave || s.kind == Kind::next) && place.branches > 1;
    Place inner = place;
    ++inner.depth;
    switch (s.kind) {
      case Kind::branch:
        inner.is_common = false;
        ++inner.branches;
        s.body = list(inner);
        if (below(2) == 0) s.otherwise = list(inner);
        s.is_alike = s.is_alike && !ends(s.body) && !ends(s.otherwise);
        break;
      case Kind::choice:
        inner.is_common = inner.may_leave = false;
        inner.branches += 2;
        for (unsigned n = 2 + below(3); n > 0; --n) s.cases.push_back(list(inner));
        s.is_alike = s.is_alike && std::ranges::none_of(s.cases, ends);
        break;
      case Kind::counted:
      case Kind::tests_first:
      case Kind::tests_last:
      case Kind::tests_within:
        add_loop(s, inner);
        break;
      default:
        break;
    }
    return s;
  }

  void add_loop(Statement& s, Place inner) {
    ++inner.loops;
    inner.branches = 0;
    // A loop that some lanes leave early is common to none.
    inner.is_common = inner.is_common && s.is_alike && s.kind == Kind::counted;
    inner.may_leave = !inner.is_common;
    inner.may_continue = !inner.is_common && s.kind != Kind::tests_within;
    s.body = list(inner);
    inner.may_continue = !inner.is_common;
    if (s.kind == Kind::tests_within) s.otherwise = list(inner);
    made_.meets_early |= jumps_on_and_out(s);
  }

  static bool jumps_on_and_out(const Statement& loop) {
    const auto either = [&](Kind kind) {
      return has(loop.body, kind) || has(loop.otherwise, kind);
    };
    return either(Kind::next) && either(Kind::leave);
  }

  std::mt19937 random_;
  const bool may_return_;
  Program made_;
  unsigned next_site_ = 1;
};

}  // namespace

Program make_program(unsigned seed) { return Generator(seed).program(seed); }

}  // namespace gpubench::flow
