// The point-wise kernels of a training step: a thread per pack of 16 bytes.
#pragma once

#include "kernels/training_step/numbers.cuh"

namespace training_step {

// Row t of `out` is the row of the table that token t names.
template <class T>
__global__ void embed(const unsigned* tokens, const T* table, T* out, unsigned packs_a_row,
                      unsigned packs) {
  const unsigned at = blockIdx.x * threads + threadIdx.x;
  if (at >= packs) return;
  const std::size_t row = tokens[at / packs_a_row];
  store_pack(out, at, load_pack(table, row * packs_a_row + at % packs_a_row));
}

// Adds each row of `d` to the gradient of the table's row that its token names; several tokens may
// name the same one.
template <class T>
__global__ void embed_backward(const unsigned* tokens, const T* d, Wide<T>* gradient,
                               unsigned columns, unsigned elements) {
  const unsigned at = blockIdx.x * threads + threadIdx.x;
  if (at >= elements) return;
  atomicAdd(gradient + std::size_t{tokens[at / columns]} * columns + at % columns,
            static_cast<Wide<T>>(d[at]));
}

template <class T>
__global__ void add(const T* a, const T* b, T* out, unsigned packs) {
  const unsigned at = blockIdx.x * threads + threadIdx.x;
  if (at >= packs) return;
  Wide<T> x[Pack<T>::size], y[Pack<T>::size];
  load_pack(a, at).unpack(x);
  load_pack(b, at).unpack(y);
#pragma unroll
  for (unsigned k = 0; k < Pack<T>::size; ++k) x[k] += y[k];
  store_pack(out, at, Pack<T>::of(x));
}

// The form with tanh, as GPT-2 has it: x/2 (1 + tanh(inner)), with this derivative.
template <class Number>
struct Gelu {
  Number value, slope;
  __host__ __device__ explicit Gelu(Number x) {
    constexpr auto root = static_cast<Number>(0.79788456080286536),
                   cubic = static_cast<Number>(0.044715), half = static_cast<Number>(0.5);
    const Number t = hyperbolic_tangent(root * x * (1 + cubic * x * x));
    value = half * x * (1 + t);
    slope = half * (1 + t) + half * x * (1 - t * t) * root * (1 + 3 * cubic * x * x);
  }
};

template <class T>
__global__ void gelu(const T* in, T* out, unsigned packs) {
  const unsigned at = blockIdx.x * threads + threadIdx.x;
  if (at >= packs) return;
  Wide<T> x[Pack<T>::size];
  load_pack(in, at).unpack(x);
#pragma unroll
  for (unsigned k = 0; k < Pack<T>::size; ++k) x[k] = Gelu<Wide<T>>(x[k]).value;
  store_pack(out, at, Pack<T>::of(x));
}

// Turns the gradient of the result into that of the input, in place.
template <class T>
__global__ void gelu_backward(const T* in, T* d, unsigned packs) {
  const unsigned at = blockIdx.x * threads + threadIdx.x;
  if (at >= packs) return;
  Wide<T> x[Pack<T>::size], g[Pack<T>::size];
  load_pack(in, at).unpack(x);
  load_pack(d, at).unpack(g);
#pragma unroll
  for (unsigned k = 0; k < Pack<T>::size; ++k) g[k] *= Gelu<Wide<T>>(x[k]).slope;
  store_pack(d, at, Pack<T>::of(g));
}

// Between rows of tokens and heads: a token's row has `parts` (Q, K and V, or one) of all its heads
// side by side; head after head, each part is [batch x heads][seq][head_dim].
struct Heads {
  unsigned seq, heads, head_packs, parts, batch;

  __host__ __device__ unsigned packs() const { return batch * seq * parts * heads * head_packs; }
  // Where the pack at `at` of the tokens' rows lies head after head.
  __host__ __device__ unsigned by_head(unsigned at) const {
    const unsigned c = at % head_packs, head = at / head_packs % heads,
                   part = at / head_packs / heads % parts, token = at / head_packs / heads / parts;
    const unsigned sequence = token / seq;
    return (((part * batch + sequence) * heads + head) * seq + token % seq) * head_packs + c;
  }
};

template <class T>
__global__ void split_heads(const T* rows, T* by_head, Heads heads) {
  const unsigned at = blockIdx.x * threads + threadIdx.x;
  if (at < heads.packs()) store_pack(by_head, heads.by_head(at), load_pack(rows, at));
}
template <class T>
__global__ void merge_heads(const T* by_head, T* rows, Heads heads) {
  const unsigned at = blockIdx.x * threads + threadIdx.x;
  if (at < heads.packs()) store_pack(rows, at, load_pack(by_head, heads.by_head(at)));
}

// Sums of the gradients of several parts of a batch.
template <class T>
__global__ void accumulate(const T* gradient, Wide<T>* sum, unsigned packs) {
  const unsigned at = blockIdx.x * threads + threadIdx.x;
  if (at >= packs) return;
  Wide<T> x[Pack<T>::size];
  load_pack(gradient, at).unpack(x);
#pragma unroll
  for (unsigned k = 0; k < Pack<T>::size; ++k) sum[at * Pack<T>::size + k] += x[k];
}

}  // namespace training_step
