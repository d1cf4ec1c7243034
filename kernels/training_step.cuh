// training_step: a transformer's forward pass, backward pass and optimizer.
//
// Here is what a step is made of: its sizes, its switches, its products, and what they cost. Its
// own kernels are in kernels/training_step/; harness/bench/training/ puts them together.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <vector>

namespace training_step {

struct Shape {
  unsigned batch, seq, hidden, heads, layers, vocabulary;

  std::size_t tokens() const { return std::size_t{batch} * seq; }
  unsigned head_dim() const { return hidden / heads; }
  unsigned mlp() const { return 4 * hidden; }
  std::size_t all_heads() const { return std::size_t{batch} * heads; }
  // Weights that products multiply: of a layer Q, K and V, the attention's result, and the MLP's
  // two.
  std::size_t layer_weights() const { return std::size_t{12} * hidden * hidden; }
  std::size_t table() const { return std::size_t{vocabulary} * hidden; }
  std::size_t product_weights() const { return table() + layers * layer_weights(); }
  std::size_t weights() const { return product_weights() + table(); }

  // For the whole model, forward and backward: six per weight and token, and the two products of
  // attention, of whole rows of scores (Chowdhery et al., "PaLM", arXiv 2204.02311, appendix B).
  double flops() const {
    const double attention = 12.0 * layers * hidden * seq;
    return static_cast<double>(tokens()) *
           (6.0 * static_cast<double>(product_weights()) + attention);
  }
};

struct Switches {
  bool fused = false;  // point-wise kernels: residual and norm, loss and its gradient
  bool tiled = false;  // attention: the scores of the forward pass are never in memory
  bool fused_adamw = false;
  bool fp8 = false;            // the layers' linear products, with their operands converted
  bool checkpointing = false;  // a layer's activations are computed again for its backward pass
  unsigned parts = 1;          // of the batch, whose gradients are added up
  double clip_at = 0;          // the norm that gradients are clipped to; 0: they are not
  // A GPU has shard `shard` of AdamW's states, and steps its weights.
  unsigned shards = 1, shard = 0;
};

// D = A B, of `count` matrices that follow each other.
struct Product {
  enum class Kind {
    dense,      // B[n][k]
    textbook,   // B[k][n]
    over_rows,  // A[k][m], B[k][n]
  };
  Kind kind;
  std::size_t m, n, k, count = 1;
  bool in_fp8 = false;  // A and B

  double flops() const { return 2.0 * static_cast<double>(m * n) * static_cast<double>(k * count); }
  double operands() const { return static_cast<double>(count * (m * k + n * k)); }  // elements
  double results() const { return static_cast<double>(count * m * n); }
  // Whether rows are not of a multiple of 8 elements.
  bool has_odd_operands() const {
    return (kind == Kind::over_rows ? m : k) % 8 != 0 || (kind == Kind::dense ? k : n) % 8 != 0;
  }
  bool has_odd_result() const { return n % 8 != 0; }
  auto operator<=>(const Product&) const = default;
};

// One operation of a step.
struct Cost {
  double flops = 0;  // of products
  double bytes = 0;
  bool odd_operands = false, odd_result = false;  // of a product: rows of no multiple of 8 elements
  bool in_fp8 = false;
};

// --- what theory says it costs ---

// Seconds of operations that follow each other: each takes its products or its bytes, besides
// `start`. `flops_per_second(cost)`: of a product.
template <class Rate>
double seconds_of(const std::vector<Cost>& costs, const Rate& flops_per_second,
                  double bytes_per_second, double start) {
  double sum = 0;
  for (const Cost& cost : costs) {
    const double multiplied = cost.flops > 0 ? cost.flops / flops_per_second(cost) : 0;
    sum += start + std::max(multiplied, cost.bytes / bytes_per_second);
  }
  return sum;
}

}  // namespace training_step
