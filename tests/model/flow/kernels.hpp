// The kernels that compilers made of programs, in whatever files they stand.
#pragma once

#include <vector>

namespace gpubench::flow {

using Kernel = void (*)(unsigned* out, const unsigned* in, unsigned* bin, unsigned given);

struct Compiled {
  unsigned seed;  // of its program
  Kernel kernel;
};

// All of them; each file adds its own when the program starts.
inline std::vector<Compiled>& compiled() {
  static std::vector<Compiled> all;
  return all;
}

}  // namespace gpubench::flow
