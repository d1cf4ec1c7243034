// The kernels of a training step that look at a whole row before they write it: RMSNorm, the
// softmax of attention, and the loss. A row has blockDim.x threads, a block blockDim.y rows
// (kernels/normalization.cuh). The rows of the vocabulary are read element by element: an odd one
// leaves no row on 16 bytes.
#pragma once

#include "kernels/normalization.cuh"
#include "kernels/training_step/numbers.cuh"

namespace training_step {

using normalization::Larger;
using normalization::of_row;
using normalization::Plus;

// Calls f(x, p) with the numbers of each pack p of a row that this thread has.
template <class T, class F>
__device__ inline void each_pack(const T* row, unsigned packs, F f) {
#pragma unroll 4
  for (unsigned p = threadIdx.x; p < packs; p += blockDim.x) {
    Wide<T> x[Pack<T>::size];
    load_pack(row, p).unpack(x);
    f(x, p);
  }
}

// One over the root of the mean square of a row.
template <class T>
__device__ inline Wide<T> scale_of_row(const T* row, unsigned packs) {
  using Number = Wide<T>;
  Number squares = 0;
  each_pack(row, packs, [&](const Number(&x)[Pack<T>::size], unsigned) {
#pragma unroll
    for (unsigned k = 0; k < Pack<T>::size; ++k) squares += x[k] * x[k];
  });
  const auto numbers = static_cast<Number>(packs * Pack<T>::size);
  return 1 / square_root(of_row(squares, Plus{}) / numbers +
                         static_cast<Number>(normalization::epsilon));
}

template <class T>
__device__ inline void write_norm(const T* row, T* out, unsigned packs) {
  using Number = Wide<T>;
  const Number scale = scale_of_row(row, packs);
  each_pack(row, packs, [&](Number(&x)[Pack<T>::size], unsigned p) {
#pragma unroll
    for (unsigned k = 0; k < Pack<T>::size; ++k) x[k] *= scale;
    store_pack(out, p, Pack<T>::of(x));
  });
}

template <class T>
__global__ void norm(const T* in, T* out, unsigned packs, unsigned rows) {
  const auto at = normalization::place(packs, rows);
  const std::size_t first = at.row * packs * Pack<T>::size;
  write_norm(in + first, out + first, at.packs);
}

// The same of the sum of two, which is kept as well.
template <class T>
__global__ void add_norm(const T* a, const T* b, T* sum, T* out, unsigned packs, unsigned rows) {
  using Number = Wide<T>;
  const auto at = normalization::place(packs, rows);
  const std::size_t first = at.row * packs * Pack<T>::size;
  each_pack(a + first, at.packs, [&](Number(&x)[Pack<T>::size], unsigned p) {
    Number y[Pack<T>::size];
    load_pack(b + first, p).unpack(y);
#pragma unroll
    for (unsigned k = 0; k < Pack<T>::size; ++k) x[k] += y[k];
    store_pack(sum + first, p, Pack<T>::of(x));
  });
  write_norm(sum + first, out + first, at.packs);  // each thread reads what it has written
}

// From the gradient `d_out` of norm(in) that of `in`; `adds`: to what is in `d_in`.
template <class T, bool adds>
__global__ void norm_backward(const T* in, const T* d_out, T* d_in, unsigned packs, unsigned rows) {
  using Number = Wide<T>;
  const auto at = normalization::place(packs, rows);
  const std::size_t first = at.row * packs * Pack<T>::size;
  const Number scale = scale_of_row(in + first, at.packs);
  Number products = 0;
  each_pack(in + first, at.packs, [&](const Number(&x)[Pack<T>::size], unsigned p) {
    Number d[Pack<T>::size];
    load_pack(d_out + first, p).unpack(d);
#pragma unroll
    for (unsigned k = 0; k < Pack<T>::size; ++k) products += x[k] * scale * d[k];
  });
  const Number mean = of_row(products, Plus{}) / static_cast<Number>(packs * Pack<T>::size);
  each_pack(in + first, at.packs, [&](const Number(&x)[Pack<T>::size], unsigned p) {
    Number d[Pack<T>::size], before[Pack<T>::size] = {};
    load_pack(d_out + first, p).unpack(d);
    if (adds) load_pack(d_in + first, p).unpack(before);
#pragma unroll
    for (unsigned k = 0; k < Pack<T>::size; ++k) {
      d[k] = before[k] + scale * (d[k] - x[k] * scale * mean);
    }
    store_pack(d_in + first, p, Pack<T>::of(d));
  });
}

// --- attention: a row of scores per query, which may look back only ---

// Scores become weights, in place.
template <class T>
__global__ void weigh(T* scores, Wide<T> scale, unsigned packs, unsigned rows) {
  using Number = Wide<T>;
  constexpr unsigned size = Pack<T>::size;
  const auto at = normalization::place(packs, rows);
  T* const row = scores + at.row * packs * size;
  const auto seen = static_cast<unsigned>(at.row % (packs * size)) + 1;
  const unsigned looked_at = at.packs == 0 ? 0 : (seen + size - 1) / size;
  Number largest = -INFINITY, sum = 0;
  each_pack(row, looked_at, [&](const Number(&x)[size], unsigned p) {
#pragma unroll
    for (unsigned k = 0; k < size; ++k) {
      if (p * size + k < seen) largest = Larger{}(largest, x[k]);
    }
  });
  largest = of_row(largest, Larger{});
  each_pack(row, looked_at, [&](const Number(&x)[size], unsigned p) {
#pragma unroll
    for (unsigned k = 0; k < size; ++k) {
      if (p * size + k < seen) sum += exponential(scale * (x[k] - largest));
    }
  });
  const Number share = 1 / of_row(sum, Plus{});
  each_pack(row, at.packs, [&](Number(&x)[size], unsigned p) {
#pragma unroll
    for (unsigned k = 0; k < size; ++k) {
      x[k] = p * size + k < seen ? exponential(scale * (x[k] - largest)) * share : Number(0);
    }
    store_pack(row, p, Pack<T>::of(x));
  });
}

// The gradient of the weights becomes that of the scores, in place.
template <class T>
__global__ void weigh_backward(const T* weights, T* d, Wide<T> scale, unsigned packs,
                               unsigned rows) {
  using Number = Wide<T>;
  constexpr unsigned size = Pack<T>::size;
  const auto at = normalization::place(packs, rows);
  const std::size_t first = at.row * packs * size;
  Number sum = 0;
  each_pack(weights + first, at.packs, [&](const Number(&w)[size], unsigned p) {
    Number x[size];
    load_pack(d + first, p).unpack(x);
#pragma unroll
    for (unsigned k = 0; k < size; ++k) sum += w[k] * x[k];
  });
  sum = of_row(sum, Plus{});
  each_pack(weights + first, at.packs, [&](const Number(&w)[size], unsigned p) {
    Number x[size];
    load_pack(d + first, p).unpack(x);
#pragma unroll
    for (unsigned k = 0; k < size; ++k) x[k] = w[k] * (x[k] - sum) * scale;
    store_pack(d + first, p, Pack<T>::of(x));
  });
}

// --- the loss: -log softmax(logits)[target], a row per token and a block per row ---

template <class T>
struct RowOfLogits {
  using Number = Wide<T>;
  Number largest = -INFINITY, sum = 0;  // of exponentials

  __device__ RowOfLogits(const T* row, unsigned columns) {
#pragma unroll 8
    for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) {
      largest = Larger{}(largest, static_cast<Number>(row[c]));
    }
    largest = of_row(largest, Larger{});
#pragma unroll 8
    for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) {
      sum += exponential(static_cast<Number>(row[c]) - largest);
    }
    sum = of_row(sum, Plus{});
  }
  __device__ Number probability(T logit) const {
    return exponential(static_cast<Number>(logit) - largest) / sum;
  }
};

// Logits become probabilities, in place.
template <class T>
__global__ void probabilities(T* logits, unsigned columns) {
  T* const row = logits + std::size_t{blockIdx.x} * columns;
  const RowOfLogits<T> known(row, columns);
#pragma unroll 8
  for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) {
    row[c] = static_cast<T>(known.probability(row[c]));
  }
}
template <class T>
__global__ void losses_of(const T* probabilities, const unsigned* targets, Wide<T>* losses,
                          unsigned columns, unsigned rows) {
  const unsigned row = blockIdx.x * threads + threadIdx.x;
  if (row >= rows) return;
  losses[row] =
      -logarithm(static_cast<Wide<T>>(probabilities[std::size_t{row} * columns + targets[row]]));
}
// Probabilities become the gradient of the logits, in place; `share` is a token's of the mean.
template <class T>
__global__ void loss_backward(T* probabilities, const unsigned* targets, Wide<T> share,
                              unsigned columns) {
  T* const row = probabilities + std::size_t{blockIdx.x} * columns;
  const unsigned target = targets[blockIdx.x];
#pragma unroll 8
  for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) {
    row[c] = static_cast<T>((static_cast<Wide<T>>(row[c]) - (c == target ? 1 : 0)) * share);
  }
}

// All three at once.
template <class T>
__global__ void loss_and_gradient(T* logits, const unsigned* targets, Wide<T>* losses,
                                  Wide<T> share, unsigned columns) {
  T* const row = logits + std::size_t{blockIdx.x} * columns;
  const unsigned target = targets[blockIdx.x];
  const RowOfLogits<T> known(row, columns);
  if (threadIdx.x == 0) {
    losses[blockIdx.x] = logarithm(known.sum) + known.largest - static_cast<Wide<T>>(row[target]);
  }
  __syncthreads();  // before the logit is overwritten
#pragma unroll 8
  for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) {
    row[c] = static_cast<T>((known.probability(row[c]) - (c == target ? 1 : 0)) * share);
  }
}

// One block. The mean of all losses.
template <class Number>
__global__ void mean(const Number* losses, Number* loss, unsigned rows) {
  Number sum = 0;
#pragma unroll 8
  for (unsigned r = threadIdx.x; r < rows; r += blockDim.x) sum += losses[r];
  sum = of_row(sum, Plus{});
  if (threadIdx.x == 0) *loss = sum / static_cast<Number>(rows);
}

}  // namespace training_step
