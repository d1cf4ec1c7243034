// What the checkers of all labs ask beyond right results.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/bench/bench.hpp"

namespace lab {

// After the solution has run, `in` must hold what it was given. All of it is looked at: of what
// nobody has read either, check_elements() would say that it was not written.
template <class T>
void expect_untouched(gpubench::Bench& bench, const gpubench::Input<T>& in) {
  bench.check([=](bool) {
    std::vector<T> held(in.size());
    CUDA_CHECK(cudaMemcpy(held.data(), in.data(), held.size() * sizeof(T), cudaMemcpyDeviceToHost));
    const std::string wrong =
        gpubench::check_on_host(std::span<T>(held), in.values(), 0.0, 0.0, false);
    return wrong.empty() ? wrong : "the input was written to: " + wrong;
  });
}

}  // namespace lab
