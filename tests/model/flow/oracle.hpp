// What a program should come to: the tree is walked by whole warps under a mask of active lanes.
// Lanes that took a branch wait behind it for those that did not, lanes that continue wait at the
// end of the iteration, lanes that break behind the loop. Lanes that have returned are waited for
// nowhere; those that store their result first do so together, where the kernel ends: nvcc merges
// equal tails.
#pragma once

#include <vector>

#include "harness/platform/model/emulator/counts.hpp"
#include "tests/model/flow/program.hpp"

namespace gpubench::flow {

struct Outcome {
  std::vector<unsigned> out, bin;
  model::Counts counts;
};

// `in`: input_words words.
Outcome expected(const Program& program, const std::vector<unsigned>& in);

}  // namespace gpubench::flow
