// How good a row is, in the words that every output uses.
#pragma once

#include <string>

namespace gpubench {

enum class Grade { expected, low, high, on_purpose, ungraded };

// "as expected", "low", ...
inline const char* words_of(Grade grade) {
  constexpr const char* words[] = {"as expected", "low", "suspiciously high", "low on purpose",
                                   "not graded"};
  return words[static_cast<int>(grade)];
}

// Whether it is worth looking into.
inline bool is_off(Grade grade) { return grade == Grade::low || grade == Grade::high; }

struct Graded {
  Grade grade = Grade::ungraded;
  double share = 0;       // of what the row should reach; 0: nothing says what that is
  std::string yardstick;  // what that is, in words
  double lost = 0;        // the share of its time beyond the edge of what is expected
  double severity = 0;    // 1 at that edge, more beyond
};

}  // namespace gpubench
