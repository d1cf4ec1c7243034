// Random structured programs, interpreted twice: lane by lane, as traces for the zipper to put
// together, and by warps with masks, as the source is to be understood.
#include "harness/platform/model/emulator/flow_graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "harness/platform/model/emulator/warp_requests.hpp"

namespace gpubench::model {
namespace {

struct Statement;
using List = std::vector<std::unique_ptr<Statement>>;

// Every statement has code addresses of its own, from `code` on.
struct Statement {
  enum class Kind { access, branch, loop, leave, next, call } kind;  // leave: break; next: continue
  std::uint64_t code = 0;
  List body, otherwise;     // of a branch: both sides; of a loop, the body; of a call, the function
  unsigned most_trips = 0;  // of a loop
  bool has_otherwise = false;
  bool tests_last = false;  // the loop's condition stands at its end, behind a guard
  unsigned odds = 0;        // of a branch to be taken, in 8
};

std::uint64_t hashed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = (a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2))) * 0xbf58476d1ce4e5b9u;
  return z ^ (z >> 29);
}

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  // It ends with an access: where the way out of a loop is a kernel's end, lanes meet there
  // (harness/platform/model/emulator/README.md).
  List program() {
    List all = list(0, 0);
    all.push_back(std::make_unique<Statement>());
    all.back()->kind = Statement::Kind::access;
    all.back()->code = next_code_;
    return all;
  }

 private:
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }

  List list(unsigned depth, unsigned loops) {
    List result;
    for (unsigned n = 1 + below(4); n > 0; --n) {
      result.push_back(statement(depth, loops));
      const auto kind = result.back()->kind;
      // What follows a jump is dead code, which no compiler keeps.
      if (kind == Statement::Kind::leave || kind == Statement::Kind::next) break;
    }
    return result;
  }

  std::unique_ptr<Statement> statement(unsigned depth, unsigned loops) {
    auto s = std::make_unique<Statement>();
    s->code = next_code_;
    next_code_ += 16;
    const unsigned choice = depth > 3 ? below(5) : below(12);
    if (choice < 4) {
      s->kind = Statement::Kind::access;
    } else if (choice == 4 && loops > 0 && depth > 0) {
      s->kind = below(2) == 0 ? Statement::Kind::leave : Statement::Kind::next;
    } else if (choice < 9) {
      s->kind = Statement::Kind::branch;
      s->odds = below(9);
      s->body = list(depth + 1, loops);
      s->has_otherwise = below(2) == 0;
      if (s->has_otherwise) s->otherwise = list(depth + 1, loops);
    } else if (choice < 11 && loops < 3) {
      s->kind = Statement::Kind::loop;
      s->most_trips = 1 + below(5);
      s->tests_last = below(2) == 0;
      s->body = list(depth + 1, loops + 1);
    } else {
      s->kind = Statement::Kind::call;
      s->body = list(depth + 1, 0);
    }
    return s;
  }

  std::mt19937 random_;
  std::uint64_t next_code_ = 0x1000;
};

// What a lane decides depends on where it is and in which iterations. Lanes from 32 on are other
// warps', which between them go every way there is: traces show only what somebody did.
constexpr unsigned explorers = 32 * 20;
bool takes(const Statement& s, unsigned lane, std::uint64_t iterations) {
  return hashed(hashed(s.code, lane), iterations) % 8 < (lane < 32 ? s.odds : 4);
}
unsigned trips(const Statement& s, unsigned lane, std::uint64_t iterations) {
  // One loop in four has as many trips for all.
  const std::uint64_t who = lane < 32 && hashed(s.code, 1) % 4 == 0 ? 0 : lane;
  return static_cast<unsigned>(hashed(hashed(s.code, 77 + who), iterations) % (s.most_trips + 1));
}
std::uint64_t address_of(const Statement& s, unsigned lane, std::uint64_t iterations) {
  return hashed(hashed(s.code, 1000 + lane), iterations);
}

const void* at(std::uint64_t code) { return reinterpret_cast<const void*>(code); }

// One lane's run, with the blocks a compiler would lay out: a block that holds neither an access
// nor a decision is none.
class Lane {
 public:
  Lane(unsigned lane, LaneTrace& trace) : lane_(lane), trace_(trace) {}

  void run(const List& program) {
    trace_.clear();
    enter_block(0x100);
    run_list(program, 0);
    reach();
  }

 private:
  enum class Exit { falls, breaks, continues };

  // The block begins here, but is there only when something happens in it.
  void enter_block(std::uint64_t code) { pending_ = code; }
  void reach() {
    if (pending_ != 0) trace_.events.push(make_event(at(pending_), EventKind::block));
    pending_ = 0;
  }

  Exit run_list(const List& list, std::uint64_t iterations) {
    for (const auto& s : list) {
      if (const Exit exit = run_one(*s, iterations); exit != Exit::falls) return exit;
    }
    return Exit::falls;
  }

  Exit run_one(const Statement& s, std::uint64_t iterations) {
    switch (s.kind) {
      case Statement::Kind::access:
        reach();
        trace_.events.push(make_event(at(s.code), EventKind::load, 4));
        trace_.addresses.push(address_of(s, lane_, iterations));
        return Exit::falls;
      case Statement::Kind::leave:
        return Exit::breaks;
      case Statement::Kind::next:
        return Exit::continues;
      case Statement::Kind::branch: {
        reach();
        Exit exit = Exit::falls;
        if (takes(s, lane_, iterations)) {
          enter_block(s.code + 1);
          exit = run_list(s.body, iterations);
        } else if (s.has_otherwise) {
          enter_block(s.code + 2);
          exit = run_list(s.otherwise, iterations);
        }
        if (exit == Exit::falls) enter_block(s.code + 3);
        return exit;
      }
      case Statement::Kind::call:
        reach();
        trace_.events.push(make_event(at(s.code), EventKind::enter));
        enter_block(s.code + 1);
        reach();
        run_list(s.body, iterations);
        reach();
        trace_.events.push(make_event(nullptr, EventKind::leave));
        return Exit::falls;
      case Statement::Kind::loop: {
        const unsigned count = trips(s, lane_, iterations);
        reach();  // the guard, or what leads to the header
        for (unsigned k = 0; s.tests_last ? k < count : true; ++k) {
          enter_block(s.code + 1);  // the body, or the header with the condition
          reach();
          if (!s.tests_last) {
            if (k == count) break;
            enter_block(s.code + 2);
          }
          const Exit exit = run_list(s.body, hashed(iterations, k + 1));
          if (exit == Exit::breaks) break;
          enter_block(s.code + 3);  // counts, and may hold the condition
          reach();
        }
        enter_block(s.code + 4);
        return Exit::falls;
      }
    }
    return Exit::falls;
  }

  unsigned lane_;
  LaneTrace& trace_;
  std::uint64_t pending_ = 0;
};

// Code, and by lane the address.
using Request = std::pair<Event, std::map<unsigned, std::uint64_t>>;

// The whole warp with a mask: lanes that took a branch wait for the others behind it, lanes that
// continue at the end of the iteration, lanes that break behind the loop.
class Warp {
 public:
  std::vector<Request> run(const List& program, std::uint32_t mask) {
    requests_.clear();
    run_list(program, {mask, 0, 0}, 0);
    return requests_;
  }

 private:
  struct Masks {
    std::uint32_t on, broken, continued;
  };

  Masks run_list(const List& list, Masks masks, std::uint64_t iterations) {
    for (const auto& s : list) {
      if (masks.on == 0) break;
      masks = run_one(*s, masks, iterations);
    }
    return masks;
  }

  template <class Predicate>
  static std::uint32_t those(std::uint32_t mask, Predicate&& predicate) {
    std::uint32_t result = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
      if ((mask >> lane & 1) != 0 && predicate(lane)) result |= 1u << lane;
    }
    return result;
  }

  Masks run_one(const Statement& s, Masks masks, std::uint64_t iterations) {
    switch (s.kind) {
      case Statement::Kind::access: {
        Request request{make_event(at(s.code), EventKind::load, 4), {}};
        those(masks.on, [&](unsigned lane) {
          request.second[lane] = address_of(s, lane, iterations);
          return true;
        });
        requests_.push_back(std::move(request));
        return masks;
      }
      case Statement::Kind::leave:
        return {0, masks.broken | masks.on, masks.continued};
      case Statement::Kind::next:
        return {0, masks.broken, masks.continued | masks.on};
      case Statement::Kind::branch: {
        const std::uint32_t taken =
            those(masks.on, [&](unsigned lane) { return takes(s, lane, iterations); });
        const Masks a = run_list(s.body, {taken, masks.broken, masks.continued}, iterations);
        const Masks b =
            run_list(s.otherwise, {masks.on & ~taken, a.broken, a.continued}, iterations);
        return {a.on | b.on, b.broken, b.continued};
      }
      case Statement::Kind::call: {
        run_list(s.body, {masks.on, 0, 0}, iterations);
        return masks;
      }
      case Statement::Kind::loop: {
        std::uint32_t inside = masks.on;
        for (unsigned k = 0; inside != 0; ++k) {
          inside = those(inside, [&](unsigned lane) { return k < trips(s, lane, iterations); });
          const Masks after = run_list(s.body, {inside, 0, 0}, hashed(iterations, k + 1));
          inside = after.on | after.continued;
        }
        return masks;
      }
    }
    return masks;
  }

  std::vector<Request> requests_;
};

std::vector<Request> zipped(WarpZipper& zipper, const std::vector<LaneTrace>& traces) {
  std::vector<Request> requests;
  zipper.zip(traces, [&](const WarpRequest& r) {
    Request request{r.event, {}};
    for (unsigned lane = 0; lane < 32; ++lane) {
      if ((r.lanes >> lane & 1) != 0) request.second[lane] = r.address[lane];
    }
    requests.push_back(std::move(request));
  });
  std::sort(requests.begin(), requests.end());
  return requests;
}

std::string shown(const List& list, unsigned indent = 0) {
  static const char* const names[] = {"access", "if", "for", "break", "continue", "call"};
  std::string text;
  for (const auto& s : list) {
    text += std::string(indent, ' ') + names[static_cast<int>(s->kind)] + "@" +
            std::to_string(s->code) + (s->tests_last ? " (tests last)" : "") + "\n";
    text += shown(s->body, indent + 2);
    if (s->has_otherwise)
      text += std::string(indent, ' ') + "else\n" + shown(s->otherwise, indent + 2);
  }
  return text;
}

TEST(FlowGraph, RandomProgramsZipAsMasksExecute) {
  std::size_t requests = 0, partial = 0, failures = 0;
  std::string smallest;  // of the programs that went wrong
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const List program = Generator(seed).program();
    std::vector<LaneTrace> traces(32);
    WarpZipper zipper;
    for (unsigned first = explorers; first > 0;) {
      first -= 32;
      for (unsigned lane = 0; lane < 32; ++lane) Lane(first + lane, traces[lane]).run(program);
      zipper.learn(traces);
    }
    std::vector<Request> expected = Warp().run(program, ~0u);
    std::sort(expected.begin(), expected.end());
    const std::vector<Request> got = zipped(zipper, traces);
    if (got != expected) {
      ++failures;
      const std::string text = "program " + std::to_string(seed) + ": " +
                               std::to_string(got.size()) + " requests for " +
                               std::to_string(expected.size()) + "\n" + shown(program);
      if (smallest.empty() || text.size() < smallest.size()) smallest = text;
    }
    requests += expected.size();
    for (const Request& r : expected) partial += r.second.size() < 32;
  }
  EXPECT_EQ(failures, 0u) << smallest;
  // The programs are worth the name: many requests, most of them of some lanes only.
  EXPECT_GT(requests, 20000u);
  EXPECT_GT(partial, requests / 2);
}

TEST(FlowGraph, PartialWarpsZipToo) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const List program = Generator(seed).program();
    std::vector<LaneTrace> others(32), traces(11);
    WarpZipper zipper;
    for (unsigned first = 32; first < explorers; first += 32) {
      for (unsigned lane = 0; lane < 32; ++lane) Lane(first + lane, others[lane]).run(program);
      zipper.learn(others);
    }
    for (unsigned lane = 0; lane < traces.size(); ++lane) Lane(lane, traces[lane]).run(program);
    zipper.learn(traces);
    std::vector<Request> expected = Warp().run(program, (1u << traces.size()) - 1);
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(zipped(zipper, traces), expected) << shown(program);
  }
}

}  // namespace
}  // namespace gpubench::model
