// An all-reduce beside matrix products of the vendor's library: what each takes alone, and what it
// takes while the other runs on the same GPUs.
#pragma once

#include <cuda_bf16.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/bench/all_reduce/ranked_collective.hpp"
#include "harness/bench/gemm_row.hpp"
#include "harness/cuda/event.hpp"
#include "harness/cuda/stream.hpp"
#include "harness/platform/nccl_channels.hpp"
#include "harness/statistics/statistics.hpp"
#include "kernels/common/tiles.cuh"

namespace all_reduce {

// A layer's product on each rank, over and over on the same operands.
class RankedProduct {
  using T = __nv_bfloat16;
  struct Operands {
    DeviceBuffer<T> a, b, d;
  };

 public:
  RankedProduct(Bench& bench, const GpuRanks& ranks, const gpubench::GemmShape& shape)
      : shape_(shape) {
    ranks.each([&](int) {
      products_.push_back(gpubench::gemm_of(bench, shape));
      Operands made{DeviceBuffer<T>(shape.m * shape.k), DeviceBuffer<T>(shape.n * shape.k),
                    DeviceBuffer<T>(shape.m * shape.n)};
      gpubench::fill_random(made.a.data(), made.a.size(), of_a);
      gpubench::fill_random(made.b.data(), made.b.size(), of_b);
      made.d.set(gpubench::poison_byte);
      operands_.push_back(std::move(made));
    });
  }

  void queue(int i, cudaStream_t s) const {
    const auto rank = static_cast<std::size_t>(i);
    const Operands& on = operands_[rank];
    products_[rank].queue(s, on.a.data(), on.b.data(), on.d.data());
  }

  // "" or what is wrong with the first rank's.
  std::string wrong(bool priced) const {
    const Operands& on = operands_.front();
    return priced
               ? gpubench::check_in_small<T, T>(shape_)
               : gpubench::check_product(shape_, on.a.data(), on.b.data(), on.d.data(), of_a, of_b);
  }

  const gpubench::GemmChoice& choice() const { return products_.front().choice(); }

 private:
  static constexpr gpubench::Generator<T> of_a{1}, of_b{2};
  gpubench::GemmShape shape_;
  std::vector<gpubench::Gemm> products_;
  std::vector<Operands> operands_;
};

// A pass whose products go on while the gradient of an earlier layer is on the wire.
class ProductsAndAllReduce {
 public:
  struct Seconds {
    double products, all_reduce;
  };

  ProductsAndAllReduce(const GpuRanks& ranks, const RankedProduct& product,
                       const RankedCollective<__nv_bfloat16>& collective, std::size_t count)
      : ranks_(ranks), product_(product), collective_(collective), count_(count) {
    int least = 0, greatest = 0;
    CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    ranks.each([&](int) {
      wires_.emplace_back(cudaStreamNonBlocking, greatest);
      ready_.emplace_back(cudaEventDisableTiming);
    });
  }

  // Behind one product, which gives the host time to queue the rest: so many more, and the
  // all-reduce if it is to be `sent`, which begins when the first of them already runs.
  void queue(cudaStream_t s, int products, bool sent) const {
    const auto wire = [this](int i) -> cudaStream_t { return wires_[at(i)]; };
    ranks_.fork(s);
    ranks_.each([&](int i) {
      const cudaStream_t stream = ranks_.stream(i, s);
      product_.queue(i, stream);
      ready_[at(i)].record(stream);
      ready_[at(i)].hold(wire(i));
      if (i == 0) {
        began_.record(stream);
        sends_.record(wire(0));
      }
      if (products > 0) product_.queue(i, stream);
    });
    if (sent) collective_.queue(0, count_, wire);
    for (int k = 1; k < products; ++k) {  // rank by rank, the last one would wait for the host
      ranks_.each([&](int i) { product_.queue(i, ranks_.stream(i, s)); });
    }
    ranks_.each([&](int i) {
      const cudaStream_t stream = ranks_.stream(i, s);
      if (i == 0) {
        ended_.record(stream);
        sent_.record(wire(0));
      }
      ready_[at(i)].record(wire(i));
      ready_[at(i)].hold(stream);
    });
    ranks_.join(s);
  }

  // What the first rank's products and the all-reduce take in such a run: the median of several.
  Seconds time(int products, bool sent) const {
    constexpr std::size_t runs = 7;
    const gpubench::Stream s;
    std::vector<double> of_products, of_all_reduce;
    for (std::size_t run = 0; run < runs; ++run) {
      queue(s, products, sent);
      s.synchronize();
      of_products.push_back(gpubench::seconds_between(began_, ended_));
      of_all_reduce.push_back(gpubench::seconds_between(sends_, sent_));
    }
    return {gpubench::median(of_products), gpubench::median(of_all_reduce)};
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  const GpuRanks& ranks_;
  const RankedProduct& product_;
  const RankedCollective<__nv_bfloat16>& collective_;
  std::size_t count_;
  std::vector<gpubench::Stream> wires_;
  std::vector<gpubench::Event> ready_;
  gpubench::Event began_, ended_, sends_, sent_;
};

inline double channels(const Bench& bench) {
  return bench.device().find("nvlink_sharp_bytes_per_second") ? gpubench::nccl_nvls_channels
                                                              : gpubench::nccl_ring_channels;
}

// Waves of tiles without NCCL's SMs, relative to all SMs; 1 if the tile is not known, or if the
// product, which takes so many `seconds` alone, waits for memory rather than for SMs.
inline double more_waves(const Bench& bench, const gpubench::GemmShape& shape,
                         const gpubench::GemmChoice& choice, double seconds) {
  const auto sms = bench.device().find("sm_count");
  const auto dram = bench.device().find("dram_bytes_per_second");
  if (choice.tile_m == 0 || !sms || !dram) return 1;
  if (shape.bytes() / *dram > 0.7 * seconds) return 1;
  const double blocks = tiles::count(static_cast<double>(shape.m), static_cast<double>(shape.n),
                                     choice.tile_m, choice.tile_n) *
                        choice.split_k;
  return std::ceil(blocks / (*sms - channels(bench))) / std::ceil(blocks / *sms);
}

inline void beside_product(Bench& bench) {
  if (!Communicator::is_built()) bench.skip("built without NCCL");
  constexpr std::size_t width = 8192, size = std::size_t{1} << 30;
  constexpr std::size_t count = size / sizeof(__nv_bfloat16);
  const GpuRanks& ranks = bench.ranks(bench.arg("ranks"), 5e-3);
  const auto m = bench.arg<std::size_t>("m");
  const auto shape = gpubench::GemmShape::dense(gpubench::GemmType::bf16, m, width, width);
  const RankedProduct product(bench, ranks, shape);
  const RankedCollective<__nv_bfloat16> collective(bench, ranks, Collective::all_reduce, count,
                                                   true);
  const ProductsAndAllReduce both(ranks, product, collective, count);
  // About as long as the all-reduce, or up to twice that.
  const auto products = static_cast<int>(std::min<std::size_t>(4 * width / m, 128));
  bench.check([&](bool) {
    const std::string wrong = product.wrong(bench.priced());
    return wrong.empty() ? collective.wrong(bench.priced()) : "the product: " + wrong;
  });
  note(bench, product.choice());
  const auto law = std::make_shared<double>(0);  // of the parts, which are timed after the whole
  bench.work(
      {.useful_bytes = size, .law = [law](const Roofs&) { return *law; }, .law_tolerance = 0.2});
  bench.run([&](cudaStream_t s) { both.queue(s, products, true); });

  const double one = both.time(products, false).products / products;
  const double send = both.time(0, true).all_reduce;
  const double waves = more_waves(bench, shape, product.choice(), one);
  *law = size / beside_seconds((products + 1) * one, send, waves);
  bench.counter("product_seconds", one);
  bench.counter("all_reduce_seconds", send);
  // Few enough products to end before the all-reduce; enough that it ends before them.
  const int few = std::max(1, static_cast<int>(0.4 * send / one));
  const int enough = static_cast<int>(std::ceil(2 * send / one));
  bench.counter("product_slowdown", both.time(few, true).products / (few * one));
  bench.counter("all_reduce_slowdown", both.time(enough, true).all_reduce / send);
}

}  // namespace all_reduce
