// A training step of a transformer: forward, loss, backward, AdamW.
//
// The residual stream x goes through `layers` layers: x += attention(norm(x)), x += mlp(norm(x)).
// Left out, because they change no time that anybody could see: biases, the norms' learned scales,
// positions, and dropout.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/bench/training/linear.hpp"
#include "harness/bench/training/memory.hpp"
#include "harness/bench/training/optimizer.hpp"
#include "harness/bench/training/queue.hpp"
#include "kernels/attention.cuh"
#include "kernels/training_step/pointwise.cuh"
#include "kernels/training_step/rows.cuh"

namespace training_step {

template <class T, class Products>
class Step {
 public:
  using Number = Wide<T>;
  using Kind = Product::Kind;

  // Takes `s.batch` sequences at a time, `switches.parts` times.
  Step(const Shape& s, const Switches& switches, Products products)
      : s_(s),
        places_{s},
        switches_(switches),
        weights_(s, switches),
        activations_(s, switches),
        queue_(std::move(products)),
        linears_(s, switches.fp8, weights_, queue_),
        optimizer_(s, switches, weights_, queue_) {}

  Step(const Step&) = delete;  // its optimizer knows where it is
  Step& operator=(const Step&) = delete;

  // Called when the gradients [begin, end) of all weights are complete, in this order.
  using OnReady = std::function<void(cudaStream_t s, std::size_t begin, std::size_t end)>;

  // Tokens and targets of all parts, one after the other; `loss()` is that of the last part.
  void gradients(cudaStream_t stream, const unsigned* tokens, const unsigned* targets, What what,
                 const OnReady& on_ready = {}) {
    queue_.begin(stream, what);
    if (switches_.parts > 1) clear(weights_.sum.data(), weights_.sum.size());
    clear(weights_.table_gradient.data(), weights_.table_gradient.size());
    for (unsigned part = 0; part < switches_.parts; ++part) {
      on_ready_ = part + 1 == switches_.parts && what == What::all ? on_ready : OnReady();
      const std::size_t first = part * s_.tokens();
      forward(tokens + first, targets + first);
      backward(tokens + first);
    }
  }
  // Then, in the same stream: what AdamW makes of the gradients, and of a part of it.
  void update() { optimizer_.update(); }
  void clip_gradients() { optimizer_.clip_gradients(); }
  // The operations of one step and what they cost. To be called first: it prepares the products.
  std::vector<Cost> costs() {
    gradients(nullptr, nullptr, nullptr, What::costs);
    update();
    return queue_.costs();
  }

  const Shape& shape() const { return s_; }
  Weights<T>& weights() { return weights_; }
  Activations<T>& activations() { return activations_; }
  const Fp8Tensors& in_fp8() const { return linears_.kept(); }
  const Number* loss() const { return activations_.loss.data(); }

 private:
  static constexpr std::size_t size = sizeof(T);

  template <class Element>
  void clear(Element* begin, std::size_t elements) {
    queue_.memory(begin, elements * sizeof(Element));
  }
  const T* weight(std::size_t place) const { return weights_.data() + place; }
  T* gradient(std::size_t place) { return weights_.gradient.data() + place; }
  Heads heads(unsigned parts) const {
    return {s_.seq, s_.heads, static_cast<unsigned>(s_.head_dim() / Pack<T>::size), parts,
            s_.batch};
  }
  void ready(std::size_t begin, std::size_t end) {
    if (switches_.parts > 1 && end <= weights_.sum.size()) {
      const std::size_t n = end - begin;
      queue_.kernel(static_cast<double>(n * (size + 2 * sizeof(Number))), accumulate<T>,
                    static_cast<unsigned>((n / Pack<T>::size + threads - 1) / threads), threads,
                    gradient(begin), weights_.sum.data() + begin,
                    static_cast<unsigned>(n / Pack<T>::size));
    }
    if (on_ready_) on_ready_(queue_.stream(), begin, end);
  }

  void forward(const unsigned* tokens, const unsigned* targets) {
    auto& a = activations_;
    queue_.pointwise(2, s_.tokens() * s_.hidden, embed<T>, tokens, weight(places_.embedding()),
                     a.between[0].data(), static_cast<unsigned>(s_.hidden / Pack<T>::size));
    for (unsigned l = 0; l < s_.layers; ++l) {
      forward_layer(l, l > 0 && switches_.fused);
      end_layer(l);
    }
    if (!switches_.fused) normalize(a.between[s_.layers], a.last_norm);
    queue_.multiply({Kind::dense, s_.tokens(), s_.vocabulary, s_.hidden}, a.last_norm.data(),
                    weight(places_.output()), a.logits.data());
    loss_of(targets);
  }

  void normalize(const DeviceBuffer<T>& x, const DeviceBuffer<T>& out) {
    queue_.by_rows(2, s_.tokens(), s_.hidden, norm<T>, x.data(), out.data());
  }
  // sum = x + y and out = norm(sum).
  void add_and_normalize(const DeviceBuffer<T>& x, const DeviceBuffer<T>& y,
                         const DeviceBuffer<T>& sum, const DeviceBuffer<T>& out) {
    if (switches_.fused) {
      queue_.by_rows(4, s_.tokens(), s_.hidden, add_norm<T>, x.data(), y.data(), sum.data(),
                     out.data());
    } else {
      queue_.pointwise(3, sum.size(), add<T>, x.data(), y.data(), sum.data());
      normalize(sum, out);
    }
  }

  // Up to what the MLP's second product reads.
  void forward_layer(unsigned l, bool is_normalized) {
    auto& a = activations_;
    auto& layer = a.layer(l);
    const DeviceBuffer<T>& x = a.between[l];
    if (!is_normalized) normalize(x, layer.first_norm);
    linears_.forward(l, Linear::qkv, layer.first_norm.data(), a.rows.data());
    split(a.rows.data(), layer.by_head.data(), 3);
    attend(layer);
    linears_.forward(l, Linear::projection, layer.attended.data(), a.rows.data());
    add_and_normalize(x, a.rows, layer.middle, layer.second_norm);
    linears_.forward(l, Linear::mlp_in, layer.second_norm.data(), layer.before_gelu.data());
    queue_.pointwise(2, layer.after_gelu.size(), gelu<T>, layer.before_gelu.data(),
                     layer.after_gelu.data());
  }
  void end_layer(unsigned l) {
    auto& a = activations_;
    auto& layer = a.layer(l);
    linears_.forward(l, Linear::mlp_out, layer.after_gelu.data(), a.rows.data());
    const DeviceBuffer<T>& next = l + 1 < s_.layers ? a.layer(l + 1).first_norm : a.last_norm;
    if (switches_.fused) {
      add_and_normalize(layer.middle, a.rows, a.between[l + 1], next);
    } else {
      queue_.pointwise(3, layer.middle.size(), add<T>, layer.middle.data(), a.rows.data(),
                       a.between[l + 1].data());
    }
  }

  void split(const T* rows, T* by_head, unsigned parts) {
    queue_.kernel(2.0 * parts * static_cast<double>(s_.tokens() * s_.hidden * size), split_heads<T>,
                  (heads(parts).packs() + threads - 1) / threads, threads, rows, by_head,
                  heads(parts));
  }
  void merge(const T* by_head, T* rows, unsigned parts) {
    queue_.kernel(2.0 * parts * static_cast<double>(s_.tokens() * s_.hidden * size), merge_heads<T>,
                  (heads(parts).packs() + threads - 1) / threads, threads, by_head, rows,
                  heads(parts));
  }

  // --- attention ---

  Number scale() const { return 1 / square_root(static_cast<Number>(s_.head_dim())); }
  Product scores_product(Kind kind) const {
    return {kind, s_.seq, s_.seq, s_.head_dim(), s_.all_heads()};
  }
  Product values_product(Kind kind) const {
    return {kind, s_.seq, s_.head_dim(), s_.seq, s_.all_heads()};
  }
  // Q, K or V of a layer.
  const T* part(const DeviceBuffer<T>& of, unsigned which) const {
    return of.data() + which * s_.tokens() * s_.hidden;
  }

  void attend(LayerActivations<T>& layer) {
    auto& a = activations_;
    const T *q = part(layer.by_head, 0), *k = part(layer.by_head, 1), *v = part(layer.by_head, 2);
    if (switches_.tiled) {
      attend_tiled(q, k, v);
    } else {
      weigh_keys(q, k, layer.weights.data());
      queue_.multiply(values_product(Kind::textbook), layer.weights.data(), v, a.heads.data());
    }
    merge(a.heads.data(), layer.attended.data(), 1);
  }
  void weigh_keys(const T* q, const T* k, T* weights) {
    queue_.multiply(scores_product(Kind::dense), q, k, weights);
    queue_.by_rows(1.5, s_.all_heads() * s_.seq, s_.seq, weigh<T>, weights, scale());
  }
  void attend_tiled(const T* q, const T* k, const T* v) {
    if constexpr (std::is_same_v<T, attention::element>) {
      const bool narrow = s_.head_dim() == 64;
      auto* const kernel = narrow ? attention::tiled<64> : attention::tiled<128>;
      const Cost cost{
          2 * scores_product(Kind::dense).flops() * attention::computed_share(s_.seq, true),
          4.0 * static_cast<double>(s_.tokens() * s_.hidden * size)};
      queue_.product_kernel(
          cost, kernel, dim3(attention::blocks_of(s_.seq, true), unsigned(s_.all_heads())),
          attention::threads,
          narrow ? attention::shared_bytes<64>() : attention::shared_bytes<128>(), q, k, v,
          activations_.heads.data(), s_.seq, 1, attention::scale_of(s_.head_dim()), true);
    }
  }
  // The gradient of the result, head after head, is in `heads`; those of Q, K and V go to
  // `d_heads`.
  void attend_backward(LayerActivations<T>& layer) {
    auto& a = activations_;
    const T *q = part(layer.by_head, 0), *k = part(layer.by_head, 1), *v = part(layer.by_head, 2);
    T* const d_q = a.d_heads.data();
    T *const d_k = d_q + s_.tokens() * s_.hidden, *const d_v = d_k + s_.tokens() * s_.hidden;
    T* const weights = switches_.tiled ? a.again.data() : layer.weights.data();
    if (switches_.tiled) weigh_keys(q, k, weights);
    queue_.multiply(values_product(Kind::over_rows), weights, a.heads.data(), d_v);
    queue_.multiply(scores_product(Kind::dense), a.heads.data(), v, a.d_scores.data());
    queue_.by_rows(3, s_.all_heads() * s_.seq, s_.seq, weigh_backward<T>, weights,
                   a.d_scores.data(), scale());
    queue_.multiply(values_product(Kind::textbook), a.d_scores.data(), k, d_q);
    queue_.multiply(values_product(Kind::over_rows), a.d_scores.data(), q, d_k);
  }

  // --- loss and backward pass ---

  void loss_of(const unsigned* targets) {
    auto& a = activations_;
    const auto rows = static_cast<unsigned>(s_.tokens());
    const auto share = static_cast<Number>(1 / static_cast<double>(rows));
    const double logits = static_cast<double>(a.logits.bytes());
    const unsigned wide = normalization::shape_of(s_.vocabulary / 4).lanes;
    if (switches_.fused) {
      queue_.kernel(4 * logits, loss_and_gradient<T>, rows, wide, a.logits.data(), targets,
                    a.losses.data(), share, s_.vocabulary);
    } else {
      queue_.kernel(4 * logits, probabilities<T>, rows, wide, a.logits.data(), s_.vocabulary);
      queue_.kernel(0, losses_of<T>, (rows + threads - 1) / threads, threads, a.logits.data(),
                    targets, a.losses.data(), s_.vocabulary, rows);
      queue_.kernel(2 * logits, loss_backward<T>, rows, wide, a.logits.data(), targets, share,
                    s_.vocabulary);
    }
    queue_.kernel(static_cast<double>(a.losses.bytes()), mean<Number>, 1, threads, a.losses.data(),
                  a.loss.data(), rows);
  }

  void backward(const unsigned* tokens) {
    auto& a = activations_;
    const std::size_t rows = s_.tokens(), hidden = s_.hidden;
    queue_.multiply({Kind::over_rows, s_.vocabulary, hidden, rows}, a.logits.data(),
                    a.last_norm.data(), gradient(places_.output()));
    ready(0, s_.table());
    queue_.multiply({Kind::textbook, rows, hidden, s_.vocabulary}, a.logits.data(),
                    weight(places_.output()), a.d_branch.data());
    queue_.by_rows(3, rows, hidden, norm_backward<T, false>, a.between[s_.layers].data(),
                   a.d_branch.data(), a.d.data());
    for (unsigned l = s_.layers; l-- > 0;) {
      if (switches_.checkpointing) forward_layer(l, false);
      backward_mlp(l);
      backward_attention(l);
      ready(places_.layer(l), places_.layer(l) + s_.layer_weights());
    }
    queue_.kernel(static_cast<double>(rows * hidden * (size + 2 * sizeof(Number))),
                  embed_backward<T>, static_cast<unsigned>((rows * hidden + threads - 1) / threads),
                  threads, tokens, a.d.data(), weights_.table_gradient.data(), s_.hidden,
                  static_cast<unsigned>(rows * hidden));
    ready(places_.embedding(), s_.weights());
  }

  // d += the gradient that came to norm(x).
  void backward_norm(const DeviceBuffer<T>& x) {
    auto& a = activations_;
    if (switches_.fused) {
      queue_.by_rows(4, s_.tokens(), s_.hidden, norm_backward<T, true>, x.data(), a.d_branch.data(),
                     a.d.data());
    } else {
      queue_.by_rows(3, s_.tokens(), s_.hidden, norm_backward<T, false>, x.data(),
                     a.d_branch.data(), a.rows.data());
      queue_.pointwise(3, a.d.size(), add<T>, a.d.data(), a.rows.data(), a.d.data());
    }
  }
  void backward_mlp(unsigned l) {
    auto& a = activations_;
    auto& layer = a.layer(l);
    linears_.backward(l, Linear::mlp_out, a.d.data(), layer.after_gelu.data(), a.d_wide.data());
    queue_.pointwise(3, a.d_wide.size(), gelu_backward<T>, layer.before_gelu.data(),
                     a.d_wide.data());
    linears_.backward(l, Linear::mlp_in, a.d_wide.data(), layer.second_norm.data(),
                      a.d_branch.data());
    backward_norm(layer.middle);
  }
  void backward_attention(unsigned l) {
    auto& a = activations_;
    auto& layer = a.layer(l);
    linears_.backward(l, Linear::projection, a.d.data(), layer.attended.data(), a.rows.data());
    split(a.rows.data(), a.heads.data(), 1);
    attend_backward(layer);
    merge(a.d_heads.data(), a.rows.data(), 3);
    linears_.backward(l, Linear::qkv, a.rows.data(), layer.first_norm.data(), a.d_branch.data());
    backward_norm(a.between[l]);
  }

  Shape s_;
  Places places_;
  Switches switches_;
  Weights<T> weights_;
  Activations<T> activations_;
  Queue<T, Products> queue_;
  Linears<T, Products> linears_;
  Optimizer<T, Products> optimizer_;
  OnReady on_ready_;
};

}  // namespace training_step
