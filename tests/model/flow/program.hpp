// Random kernels with every way that structured code can go, as trees. From one tree come the
// kernel's source (source.cpp), which compilers are given, and what its warps should do
// (oracle.cpp).
#pragma once

#include <cstdint>
#include <vector>

namespace gpubench::flow {

enum class Kind : std::uint8_t {
  load,
  store,
  atomic,
  shared_load,
  shared_store,
  shared_atomic,
  branch,        // `body` where the condition holds, else `otherwise`
  choice,        // a switch, a branch in `cases` for each value
  counted,       // for (k = 0; k < trips; ++k) { body }
  tests_first,   // while (condition) { body }
  tests_last,    // do { body } while (condition)
  tests_within,  // for (k = 0;; ++k) { body; if (condition) break; otherwise }
  leave,         // break
  next,          // continue
  end,           // return
  finish,        // stores the result, then returns
  barrier,
};

struct Statement;
using List = std::vector<Statement>;

struct Statement {
  Kind kind;
  unsigned site = 0;      // its number, from 1
  unsigned amount = 0;    // most trips, or in how many of 8 cases a condition holds
  unsigned depth = 0;     // of a loop: in how many others it stands
  bool is_alike = false;  // for all lanes: it depends on nothing that differs between them
  bool is_row = false;    // of an access: neighbouring lanes' words are neighbours
  List body{}, otherwise{};
  std::vector<List> cases{};
};

struct Program {
  unsigned seed = 0;
  List body{};
  // Lanes meet before their branch's immediate post-dominator, as they do in machine code: ptxas
  // takes lanes that jump out of two branches at once from the barrier behind the inner one
  // (BREAK), and lanes that `continue` wait at the loop's head for those that might yet `break`.
  bool meets_early = false;
  bool returns = false;  // some lanes, before the end
};

Program make_program(unsigned seed);

// --- what a kernel is launched with ---
inline constexpr unsigned threads = 80;  // two full warps and a half
inline constexpr unsigned input_words = 1024;
inline constexpr unsigned bins = 64;
inline constexpr unsigned most_sites = 128;
inline constexpr unsigned words_of_site = 4;
inline constexpr unsigned output_words = (most_sites + 1) * words_of_site * threads;
inline constexpr unsigned given = 12345;

}  // namespace gpubench::flow
