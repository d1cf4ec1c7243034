// What the checkers of all labs give a solution, and what they ask of it beyond right results.
#pragma once

#include <cmath>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "harness/bench/bench.hpp"

namespace lab {

// Random numbers of a range of their own: scale * (x + offset), x in [-1, 1). With a power of two
// and a small whole number, they are as exact as x.
template <class Values = gpubench::Generator<float>>
struct Ranged {
  Values of;
  float scale = 1, offset = 0;
  __host__ __device__ float operator()(std::size_t i) const { return scale * (of(i) + offset); }
};

// Random numbers in [-1, 1) of all 24 bits that a float has room for, so that no table holds them.
struct Fine {
  gpubench::Generator<unsigned> bits;
  __host__ __device__ float operator()(std::size_t i) const {
    return static_cast<float>(static_cast<int>(bits(i) >> 7) - (1 << 24)) / (1 << 24);
  }
};

// What a row's inputs are made of, so that no two rows need have the same range: it comes from the
// seed, and from the row's `shape`.
class Ranges {
 public:
  Ranges(gpubench::Bench& bench, std::size_t shape)
      : bits_(bench.input<unsigned>(1).values()), next_(16 * shape) {}
  unsigned below(unsigned end) { return bits_(next_++) % end; }
  float sign() { return below(2) == 0 ? 1.0f : -1.0f; }
  // One of 2^low ... 2^high.
  float power_of_two(int low, int high) {
    return std::ldexp(1.0f, low + static_cast<int>(below(static_cast<unsigned>(high - low + 1))));
  }

 private:
  gpubench::Generator<unsigned> bits_;
  std::size_t next_;
};

// `size()` elements on the device, which are values(i).
template <class Values>
class Input {
 public:
  using Element = std::decay_t<std::invoke_result_t<const Values&, std::size_t>>;
  Input(gpubench::Bench& bench, std::size_t n, const Values& values)
      : memory_(bench.input<Element>(n, values)), values_(values) {}
  Element* data() const { return memory_.data(); }
  std::size_t size() const { return memory_.size(); }
  Values values() const { return values_; }

 private:
  gpubench::Operand<Element> memory_;
  Values values_;
};

inline Input<Ranged<>> ranged_input(gpubench::Bench& bench, std::size_t n, float scale,
                                    float offset = 0) {
  return {bench, n, Ranged<>{bench.input<float>(1).values(), scale, offset}};
}

// After the solution has run, `in` must hold what it was given. All of it is looked at: of what
// nobody has read either, check_elements() would say that it was not written.
template <class In>
void expect_untouched(gpubench::Bench& bench, const In& in) {
  bench.check([=](bool) {
    std::vector<std::decay_t<decltype(*in.data())>> held(in.size());
    CUDA_CHECK(
        cudaMemcpy(held.data(), in.data(), held.size() * sizeof(held[0]), cudaMemcpyDeviceToHost));
    const std::string wrong =
        gpubench::check_on_host(std::span(held), in.values(), 0.0, 0.0, false);
    return wrong.empty() ? wrong : "the input was written to: " + wrong;
  });
}

}  // namespace lab
