// Races and reads of what nobody wrote: kernels with one mistake each and their twins without it,
// and random programs against happens-before by reachability.
#include "harness/platform/model/emulator/memory_checker.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "tests/model/checker_kernels.hpp"
#include "tests/model/emulator_fixture.hpp"

namespace gpubench::model {
namespace {

using MemoryCheckerTest = EmulatorTest;
using kernels::Op;

std::vector<int> lines_named_in(const std::string& fault) {
  static const std::regex pattern("checker_kernels[.]cpp:([0-9]+)");
  std::vector<int> lines;
  for (std::sregex_iterator i(fault.begin(), fault.end(), pattern), end; i != end; ++i) {
    lines.push_back(std::stoi((*i)[1].str()));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST_F(MemoryCheckerTest, EveryMistakeIsNamedAndItsTwinIsClean) {
  for (const kernels::Mistake& mistake : kernels::memory_mistakes()) {
    SCOPED_TRACE(mistake.name);
    unsigned* words = upload(std::vector<unsigned>(1024, 0));
    counts_of([&] { mistake.launch(words, true); });
    if (mistake.says == nullptr) {  // looks like one, and is none
      counts_of([&] { mistake.launch(words, false); });
      continue;
    }
    const std::string fault = fault_of([&] { mistake.launch(words, false); });
    EXPECT_EQ(fault.find('\n'), std::string::npos);
    EXPECT_NE(fault.find(mistake.says), std::string::npos) << fault;
    EXPECT_NE(fault.find("of block (0,0,0) at "), std::string::npos) << fault;
    // Each side of a race has its own line.
    std::vector<int> lines{mistake.first};
    if (mistake.second != 0) lines.push_back(mistake.second);
    std::sort(lines.begin(), lines.end());
    EXPECT_EQ(lines_named_in(fault), lines) << fault;
  }
}

TEST_F(MemoryCheckerTest, ARaceNamesBothSidesInOneLine) {
  unsigned* words = upload(std::vector<unsigned>(1024, 0));
  const auto mistakes = kernels::memory_mistakes();
  const auto one_value = std::find_if(mistakes.begin(), mistakes.end(), [](const auto& m) {
    return std::string("one_value") == m.name;
  });
  const std::string at = "checker_kernels.cpp:" + std::to_string(one_value->first);
  const std::string fault = fault_of([&] { one_value->launch(words, false); });
  EXPECT_NE(fault.find("race: 4-byte store at bytes 0..3 of 'flag' by thread (0,0,0) at " + at +
                       ", and with no barrier between them (a race even if both store one value) "
                       "4-byte store at bytes 0..3 of 'flag' by thread (1,0,0) of block (0,0,0) "
                       "at " +
                       at),
            std::string::npos)
      << fault;
}

TEST_F(MemoryCheckerTest, NoBlockFindsAnEarlierOnesValuesInStaticSharedMemory) {
  // Run, not traced: only the first thread of a block writes, and all read.
  Emulator sampling(spec, memory, {.threads = 2, .most_sampled_blocks = 2});
  sampling.set_execution(Execution::whole);
  use(sampling);
  constexpr unsigned blocks = 40;
  unsigned* out = upload(std::vector<unsigned>(blocks, 0));
  kernels::leave_in_shared(out, blocks);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
  const std::vector<unsigned> seen = download(out, blocks);
  // The blocks at both ends are traced, and store before they load.
  for (unsigned block = 1; block + 1 < blocks; ++block) EXPECT_EQ(seen[block], ~0u) << block;
}

// --- random programs ---

struct Program {
  unsigned threads = 0, steps = 0, bytes = 0;
  bool fill = false, global = false;
  std::vector<Op> ops;  // [step * threads + thread]

  const Op& at(unsigned step, unsigned thread) const { return ops[step * threads + thread]; }
};

Program random_program(std::mt19937& random) {
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  Program p;
  p.threads = 33 + below(32);
  p.steps = 2 + below(14);
  p.bytes = 8u << below(4);
  p.global = below(4) == 0;
  p.fill = p.global || below(4) != 0;
  p.ops.resize(std::size_t{p.steps} * p.threads);
  // A handful of threads do something; the others only meet.
  std::vector<unsigned> actors(2 + below(5));
  for (unsigned& actor : actors) actor = below(3) == 0 ? below(p.threads) : below(6);
  const unsigned loads = 1 + below(8), meetings = 1 + below(6);
  for (unsigned step = 0; step < p.steps; ++step) {
    Op* ops = &p.ops[std::size_t{step} * p.threads];
    const unsigned kind = below(10);
    if (kind < meetings / 2) {
      std::fill_n(ops, p.threads, Op{.what = Op::meet_block});
      continue;
    }
    if (kind < meetings) {  // groups of a warp's lanes, most often all or halves, or any
      const std::uint32_t some =
          std::array{~0u, 0xffffu, 7u, static_cast<unsigned>(random())}[below(4)];
      for (unsigned thread = 0; thread < p.threads; ++thread) {
        const bool in = (some >> thread % 32 & 1) != 0;
        if (in || below(2) == 0) ops[thread] = {.what = Op::meet_warp, .mask = in ? some : ~some};
      }
      // All that a mask names have to come.
      for (unsigned thread = 0; thread < p.threads; ++thread) {
        const unsigned first = thread / 32 * 32;
        for (unsigned lane = 0; ops[thread].what == Op::meet_warp && lane < 32; ++lane) {
          if ((ops[thread].mask >> lane & 1) != 0 && first + lane < p.threads) {
            ops[first + lane] = ops[thread];
          }
        }
      }
      continue;
    }
    for (const unsigned actor : actors) {
      if (below(3) != 0) continue;
      const auto what = below(10) < loads ? Op::load : below(3) == 0 ? Op::atomic : Op::store;
      const unsigned bytes = what == Op::atomic ? 4u << below(2) : 1u << below(4);
      ops[actor] = {.what = what,
                    .bytes = static_cast<std::uint8_t>(bytes),
                    .offset = static_cast<std::uint16_t>(below(p.bytes / bytes) * bytes)};
    }
  }
  return p;
}

// The earliest step of each thread that everything at (step, thread) is ordered before: paths
// through the program's own order and its meetings.
class HappensBefore {
 public:
  explicit HappensBefore(const Program& p) : p_(p), earliest_((p.steps + 1) * p.threads) {
    for (unsigned step = p.steps + 1; step-- > 0;) {
      for (unsigned thread = 0; thread < p.threads; ++thread) {
        auto& reach = earliest_[step * p.threads + thread];
        reach.assign(p.threads, p.steps + 1);
        if (step < p.steps) {
          for (unsigned other = 0; other < p.threads; ++other) {
            if (other != thread && !meet(step, thread, other)) continue;
            const auto& theirs = earliest_[(step + 1) * p.threads + other];
            for (unsigned i = 0; i < p.threads; ++i) reach[i] = std::min(reach[i], theirs[i]);
          }
        }
        reach[thread] = step;
      }
    }
  }
  // Whether what `a` does in `step_a` is ordered before what `b` does in `step_b`.
  bool operator()(unsigned step_a, unsigned a, unsigned step_b, unsigned b) const {
    if (a == b) return step_a < step_b;
    return earliest_[step_a * p_.threads + a][b] <= step_b;
  }

 private:
  bool meet(unsigned step, unsigned a, unsigned b) const {
    const Op& op = p_.at(step, a);
    if (op.what == Op::meet_block) return true;
    return op.what == Op::meet_warp && a / 32 == b / 32 && (op.mask >> b % 32 & 1) != 0;
  }
  const Program& p_;
  std::vector<std::vector<unsigned>> earliest_;
};

struct Touch {
  unsigned step, thread;
  Op op;
};

std::vector<Touch> touches_of(const Program& p) {
  std::vector<Touch> touches;
  for (unsigned step = 0; step < p.steps; ++step) {
    for (unsigned thread = 0; thread < p.threads; ++thread) {
      const Op& op = p.at(step, thread);
      if (op.what == Op::load || op.what == Op::store || op.what == Op::atomic) {
        touches.push_back({step, thread, op});
      }
    }
  }
  return touches;
}

bool is_race(const Touch& a, const Touch& b, const HappensBefore& before) {
  if (a.thread == b.thread) return false;
  if (a.op.offset + a.op.bytes <= b.op.offset || b.op.offset + b.op.bytes <= a.op.offset) {
    return false;
  }
  if (a.op.what == b.op.what && a.op.what != Op::store) return false;
  return !before(a.step, a.thread, b.step, b.thread) && !before(b.step, b.thread, a.step, a.thread);
}

// Whether some byte that `reader` reads was certainly not, or not in every order, written before.
bool reads_unwritten(const Touch& reader, const std::vector<Touch>& all,
                     const HappensBefore& before) {
  if (reader.op.what == Op::store) return false;
  for (unsigned byte = reader.op.offset; byte < reader.op.offset + reader.op.bytes + 0u; ++byte) {
    const bool written = std::any_of(all.begin(), all.end(), [&](const Touch& w) {
      return w.op.what == Op::store && w.op.offset <= byte &&
             byte < w.op.offset + w.op.bytes + 0u &&
             before(w.step, w.thread, reader.step, reader.thread);
    });
    if (!written) return true;
  }
  return false;
}

// "4-byte store at bytes 8..11 of ... by thread (3,0,0)"
struct Named {
  unsigned thread = 0, offset = 0, bytes = 0;
  Op::What what = Op::nothing;
  bool is(const Touch& t) const {
    return t.thread == thread && t.op.offset == offset && t.op.bytes == bytes && t.op.what == what;
  }
};

std::vector<Named> accesses_named_in(const std::string& fault) {
  static const std::regex pattern(
      "([0-9]+)-byte (load|store|atomic) at bytes ([0-9]+)[.][.][0-9]+ of .*? by thread "
      "[(]([0-9]+),0,0[)]");
  std::vector<Named> found;
  for (std::sregex_iterator i(fault.begin(), fault.end(), pattern), end; i != end; ++i) {
    const auto number = [&](std::size_t group) {
      return static_cast<unsigned>(std::stoul((*i)[group].str()));
    };
    found.push_back({number(4), number(3), number(1),
                     (*i)[2] == "load"    ? Op::load
                     : (*i)[2] == "store" ? Op::store
                                          : Op::atomic});
  }
  return found;
}

TEST_F(MemoryCheckerTest, RandomProgramsAgreeWithHappensBefore) {
  std::mt19937 random(7);
  unsigned racing = 0, unwritten = 0, clean = 0, within_a_warp = 0;
  unsigned* out = make<unsigned>(64);
  for (unsigned number = 0; number < 3000; ++number) {
    const Program p = random_program(random);
    const HappensBefore before(p);
    const std::vector<Touch> touches = touches_of(p);
    bool races = false, reads_nothing = false;
    for (const Touch& a : touches) {
      races = races || std::any_of(touches.begin(), touches.end(),
                                   [&](const Touch& b) { return is_race(a, b, before); });
      reads_nothing = reads_nothing || (!p.fill && reads_unwritten(a, touches, before));
    }

    const Op* ops = upload(p.ops);
    auto* global =
        p.global ? reinterpret_cast<std::byte*>(upload(std::vector<char>(p.bytes))) : nullptr;
    diagnostic.clear();
    kernels::run_program(ops, p.steps, p.threads, p.bytes, p.fill && !p.global, global, out);
    const bool faulted = cudaDeviceSynchronize() != cudaSuccess;
    ASSERT_EQ(faulted, races || reads_nothing) << "program " << number << ": " << diagnostic;
    memory.release(const_cast<Op*>(ops));
    if (global != nullptr) memory.release(global);
    clean += !faulted;
    if (!faulted) continue;

    use(emulator);  // a device that has seen a fault is of no more use
    const std::vector<Named> named = accesses_named_in(diagnostic);
    const auto could_be = [&](const Named& name, auto&& is_so) {
      return std::any_of(touches.begin(), touches.end(),
                         [&](const Touch& t) { return name.is(t) && is_so(t); });
    };
    if (diagnostic.find("race: ") != std::string::npos) {
      ASSERT_EQ(named.size(), 2u) << diagnostic;
      ASSERT_TRUE(could_be(named[0],
                           [&](const Touch& a) {
                             return could_be(named[1],
                                             [&](const Touch& b) { return is_race(a, b, before); });
                           }))
          << "program " << number << ": " << diagnostic;
      ++racing;
      within_a_warp += named[0].thread / 32 == named[1].thread / 32;
    } else {
      ASSERT_NE(diagnostic.find("uninitialised"), std::string::npos) << diagnostic;
      ASSERT_EQ(named.size(), 1u) << diagnostic;
      ASSERT_TRUE(
          could_be(named[0], [&](const Touch& t) { return reads_unwritten(t, touches, before); }))
          << "program " << number << ": " << diagnostic;
      ++unwritten;
    }
  }
  // Each answer was given often enough to mean something.
  EXPECT_GT(racing, 500u);
  EXPECT_GT(within_a_warp, 200u);
  EXPECT_GT(unwritten, 100u);
  EXPECT_GT(clean, 1000u);
}

}  // namespace
}  // namespace gpubench::model
