// The experts of a mixture, each with the tokens that are its own: what the ways to multiply them
// have in common.
#pragma once

#include <cuda_bf16.h>

#include <cstddef>
#include <set>
#include <string>

#include "harness/bench/bench.hpp"
#include "harness/bench/gemm_batch/row.hpp"
#include "harness/bench/gemm_row.hpp"
#include "kernels/gemm_batch.cuh"

namespace gemm_batch {

class Mixture {
 public:
  using element = __nv_bfloat16;

  // `padded`: every expert has as many tokens as the fullest one.
  Mixture(gpubench::Bench& bench, bool padded)
      : split_{bench.arg<unsigned>("experts"), bench.arg<unsigned>("m"),
               bench.axis("split") == "even"},
        laid_out_(padded ? Split{split_.experts, split_.fullest(), true} : split_),
        layer_(layer_of(split_.experts)),
        x_(bench.input<element>(std::size_t{laid_out_.tokens()} * layer_.k)),
        w_(bench.input<element>(std::size_t{split_.experts} * layer_.n * layer_.k)),
        y_(bench.output<element>(std::size_t{laid_out_.tokens()} * layer_.n)) {}

  // As they lie in memory.
  const Split& laid_out() const { return laid_out_; }
  const Layer& layer() const { return layer_; }
  const auto& y() const { return y_; }
  gpubench::GemmShape shape(unsigned tokens) const {
    return gpubench::GemmShape::dense(gpubench::GemmType::bf16, tokens, layer_.n, layer_.k);
  }
  auto expected() const {
    return ExpectedOfExperts<gpubench::Generator<element>, gpubench::Unrounded>{
        x_.values(), w_.values(), laid_out_, layer_.n, layer_.k};
  }
  gpubench::Tolerance tolerance() const {
    const auto [relative, absolute] = gpubench::gemm_tolerance<element>(shape(1));
    return {relative, absolute};
  }

  // Where an expert's matrices begin.
  const element* x(unsigned expert) const {
    return x_.data() + std::size_t{laid_out_(expert)} * layer_.k;
  }
  const element* w(unsigned expert) const {
    return w_.data() + std::size_t{expert} * layer_.n * layer_.k;
  }
  element* y(unsigned expert) const {
    return y_.data() + std::size_t{laid_out_(expert)} * layer_.n;
  }

  // `unit`: what multiplies.
  Amount amount(const char* unit) const {
    const double tokens = split_.tokens();
    Bytes bytes = bytes_of<Bf16Weights>;
    bytes.weight *= split_.experts;
    return {tokens, layer_bytes(layer_, bytes, tokens), layer_flops(layer_, tokens), unit};
  }

  // Products by the library: all results, or where they are only priced, a small product of each
  // kind.
  void verify_library(gpubench::Bench& bench) const {
    std::set<unsigned> kinds;
    for (unsigned expert = 0; expert < laid_out_.experts; ++expert) {
      kinds.insert(laid_out_.tokens_of(expert));
    }
    bench.check([*this, kinds, &bench](bool) {
      const auto [relative, absolute] = tolerance();
      if (!bench.priced()) {
        return gpubench::check_elements(y_.data(), y_.size(), expected(), relative, absolute,
                                        false);
      }
      std::string wrong;
      for (const unsigned tokens : kinds) {
        if (!wrong.empty()) break;
        wrong = gpubench::check_in_small<element, element>(shape(tokens));
      }
      return wrong;
    });
  }

 private:
  // The first half of an expert's MLP: of Mixtral 8x7B, and of Qwen3 30B-A3B.
  static Layer layer_of(unsigned experts) {
    return experts == 8 ? Layer{14336, 4096} : Layer{768, 2048};
  }

  Split split_, laid_out_;
  Layer layer_;
  gpubench::Input<element> x_, w_;
  gpubench::Output<element> y_;
};

}  // namespace gemm_batch
