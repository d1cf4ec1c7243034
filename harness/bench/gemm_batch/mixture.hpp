// The experts of a mixture, each with the tokens that are its own: where their matrices lie, and
// what the ways to multiply them have in common.
#pragma once

#include <cuda_bf16.h>

#include <cstddef>
#include <string>

#include "harness/bench/bench.hpp"
#include "harness/bench/gemm_batch/row.hpp"
#include "harness/bench/gemm_row.hpp"
#include "kernels/gemm_batch.cuh"

namespace gemm_batch {

// Matrices of experts, one expert's behind the other's.
struct Experts {
  using element = __nv_bfloat16;

  Split split;  // as they lie in memory
  Layer layer;
  const element *x = nullptr, *w = nullptr;
  element* y = nullptr;

  Experts in(const element* at_x, const element* at_w, element* at_y) const {
    return {split, layer, at_x, at_w, at_y};
  }
  std::size_t weights() const { return std::size_t{layer.n} * layer.k; }
  std::size_t x_elements() const { return std::size_t{split.tokens()} * layer.k; }
  std::size_t w_elements() const { return split.experts * weights(); }
  std::size_t y_elements() const { return std::size_t{split.tokens()} * layer.n; }
  const element* x_of(unsigned expert) const { return x + std::size_t{split(expert)} * layer.k; }
  const element* w_of(unsigned expert) const { return w + expert * weights(); }
  element* y_of(unsigned expert) const { return y + std::size_t{split(expert)} * layer.n; }

  gpubench::GemmShape shape(unsigned tokens) const {
    return gpubench::GemmShape::dense(gpubench::GemmType::bf16, tokens, layer.n, layer.k);
  }
  // A batch of experts with equally many tokens.
  gpubench::GemmBatch batch() const {
    const std::size_t tokens = split.m;
    return {split.experts, tokens * layer.k, weights(), tokens * layer.n};
  }
};

class Mixture {
 public:
  using element = Experts::element;
  using Values = gpubench::Generator<element>;
  using Expected = ExpectedOfExperts<Values, gpubench::Unrounded>;

  // `padded`: every expert has as many tokens as the fullest one.
  Mixture(gpubench::Bench& bench, bool padded)
      : split_{bench.arg<unsigned>("experts"), bench.arg<unsigned>("m"),
               bench.axis("split") == "even"},
        layout_{padded ? Split{split_.experts, split_.fullest(), true} : split_,
                layer_of(split_.experts)},
        x_(bench.input<element>(layout_.x_elements())),
        w_(bench.input<element>(layout_.w_elements())),
        y_(bench.output<element>(layout_.y_elements())) {}

  // Without memory.
  const Experts& layout() const { return layout_; }
  // In the set of buffers whose turn it is.
  Experts experts() const { return layout_.in(x_.data(), w_.data(), y_.data()); }
  const auto& y() const { return y_; }
  Expected expected() const { return expected_of(layout_, x_.values(), w_.values()); }
  gpubench::Tolerance tolerance() const {
    const auto [relative, absolute] = gpubench::gemm_tolerance<element>(layout_.shape(1));
    return {relative, absolute};
  }

  // `unit`: what multiplies.
  Amount amount(const char* unit) const {
    const double tokens = split_.tokens();
    Bytes bytes = bytes_of<Bf16Weights>;
    bytes.weight *= split_.experts;
    const Layer& layer = layout_.layer;
    return {tokens, layer_bytes(layer, bytes, tokens), layer_flops(layer, tokens), unit};
  }

  // The share of the `multiplied` rows of X that are no tokens.
  double padding_fraction(double multiplied) const { return 1 - split_.tokens() / multiplied; }

  // Has what `Products` leaves checked. The model has only priced it: there, another one multiplies
  // a few experts of a small layer, by the same code that finds their matrices.
  template <class Products>
  void verify_library(gpubench::Bench& bench) const {
    bench.check([*this, &bench](bool) -> std::string {
      const auto [relative, absolute] = tolerance();
      return bench.priced() ? check_in_small<Products>(bench)
                            : gpubench::check_elements(y_.data(), y_.size(), expected(), relative,
                                                       absolute, false);
    });
  }

 private:
  // The first half of an expert's MLP: of Mixtral 8x7B, and of Qwen3 30B-A3B.
  static Layer layer_of(unsigned experts) {
    return experts == 8 ? Layer{14336, 4096} : Layer{768, 2048};
  }
  static Expected expected_of(const Experts& of, const Values& x, const Values& w) {
    return {x, w, of.split, of.layer.n, of.layer.k};
  }

  template <class Products>
  std::string check_in_small(gpubench::Bench& bench) const {
    const Experts few{{8, layout_.split.m, layout_.split.even}, {64, 128}};
    const gpubench::DeviceBuffer<element> x(few.x_elements()), w(few.w_elements()),
        y(few.y_elements());
    const Values of_x{1}, of_w{2};
    gpubench::fill_random(x.data(), x.size(), of_x);
    gpubench::fill_random(w.data(), w.size(), of_w);
    y.set(gpubench::poison_byte);
    const Experts experts = few.in(x.data(), w.data(), y.data());
    Products(bench, few).queue(nullptr, experts);
    CUDA_CHECK(cudaDeviceSynchronize());
    const auto [relative, absolute] = gpubench::gemm_tolerance<element>(few.shape(1));
    return gpubench::check_elements(y.data(), y.size(), expected_of(few, of_x, of_w), relative,
                                    absolute, false);
  }

  Split split_;
  Experts layout_;
  gpubench::Input<element> x_, w_;
  gpubench::Output<element> y_;
};

}  // namespace gemm_batch
