// all_reduce: what does exchanging gradients between GPUs cost?
//
// Expected  Time = alpha + beta x size. A small message costs only latency, which grows with the
//           number of ranks, for rings and trees. A large message reaches the bandwidth of the
//           link. To compare collectives, use the bus bandwidth busbw = algbw x f: it is at most
//           the link's bandwidth, whatever the number of ranks. The factor f is 2(n-1)/n for an
//           all-reduce, (n-1)/n for a reduce-scatter, an all-gather or an all-to-all of the whole
//           size, and 1 for a broadcast. Across nodes, the slower of NVLink and the node's network
//           cards sets the pace; in an all-to-all, each rank's own card. If the switch does the
//           additions (NVLS), each GPU's link carries (n + 1)/n of the size in each direction
//           instead of 2(n-1)/n, so busbw may exceed the link's bandwidth: by 12 to 27 % in
//           published runs on 8 GPUs. If buckets overlap with a backward pass, only the last bucket
//           adds time. An all-reduce and a product that run together slow each other
//           (`beside_product`): NCCL takes 16 to 24 SMs, so a product whose tiles just fill all SMs
//           needs a second wave, up to twice the time; the all-reduce waits until a wave of tiles
//           ends; and both use memory. If each rank reads all that the others have (`one_shot`),
//           there is no second step to wait for: this is faster for small vectors, and carries
//           n / 2 times the bytes of an all-reduce in two steps. In `nvls`, kernels of our own use
//           the switch: each rank fetches the sums of its share and stores them to all ranks at
//           once, so there is only one step. In `nvls_add`, each rank adds its whole vector to the
//           sums of all, which brings n of them over each link. `line` measures alpha and beta.
// Units     size [bytes of the whole vector], ranks [GPUs], bucket [bytes]. In `beside_product`, m
//           tokens pass through a layer of 8192 x 8192 in bf16, again and again, beside an
//           all-reduce of 1 GiB. Inputs are small integers, so that their sums are exact in any
//           order. Rows run in one process unless mpirun starts more.
// Confirm   NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING names the algorithm; nccl-tests reports the
//           same quantities. `nvidia-smi nvlink -gt d` counts what each link has carried
#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>

#include "harness/bench/all_reduce/beside_product.hpp"
#include "harness/bench/all_reduce/in_switch.hpp"
#include "harness/bench/all_reduce/ranked_collective.hpp"
#include "harness/bench/bench.hpp"
#include "kernels/all_reduce.cuh"

namespace {

using namespace all_reduce;

template <Collective what, class T>
void timed(Bench& bench) {
  if (!Communicator::is_built()) bench.skip("built without NCCL");
  const GpuRanks& ranks = bench.ranks(bench.arg("ranks"));
  const auto size = bench.arg<std::size_t>("size");
  const RankedCollective<T> collective(bench, ranks, what, count_of<T>(what, size, ranks.count()),
                                       bench.axis("place") == "in");
  bench.check([&](bool) { return collective.wrong(bench.priced()); });
  say_work(bench, rate_of(bench, what, ranks.count()), static_cast<double>(size), ranks.count());
  bench.run(std::ref(collective));
  say_bandwidths(bench, what, static_cast<double>(size), ranks.count());
}

template <Collective what>
void by_dtype(Bench& bench) {
  const std::string& dtype = bench.axis("dtype");
  return dtype == "fp32"   ? timed<what, float>(bench)
         : dtype == "fp16" ? timed<what, __half>(bench)
                           : timed<what, __nv_bfloat16>(bench);
}

// Fits time = alpha + beta x size to two sizes, the smallest and one at which the wire is the limit
// at any number of ranks: the least that a message costs, what each byte adds, and the size at
// which half of the time is bytes.
void line(Bench& bench) {
  if (!Communicator::is_built()) bench.skip("built without NCCL");
  const std::string& of = bench.axis("of");
  const Collective what = of == "all_reduce"       ? Collective::all_reduce
                          : of == "reduce_scatter" ? Collective::reduce_scatter
                          : of == "all_gather"     ? Collective::all_gather
                          : of == "broadcast"      ? Collective::broadcast
                                                   : Collective::all_to_all;
  const GpuRanks& ranks = bench.ranks(bench.arg("ranks"));
  const auto large = std::bit_ceil(
      static_cast<std::size_t>(std::max(wire_bytes(ranks.count()), static_cast<double>(1 << 29))));
  const std::size_t small = std::max(std::size_t{8}, 4 * static_cast<std::size_t>(ranks.count()));
  const auto count = [&](std::size_t size) { return count_of<float>(what, size, ranks.count()); };
  const RankedCollective<float> collective(bench, ranks, what, count(large), false);
  bench.check([&](bool) { return collective.wrong(bench.priced()); });
  say_work(bench, rate_of(bench, what, ranks.count()), static_cast<double>(large), ranks.count());
  bench.run(std::ref(collective));
  const double least = bench.time([&](cudaStream_t s) { collective.queue(s, count(small)); });
  const double a_byte = (bench.seconds() - least) / static_cast<double>(large - small);
  const double alpha = least - a_byte * static_cast<double>(small);
  bench.counter("alpha_seconds", alpha);
  bench.counter("beta_seconds_per_byte", a_byte);
  bench.counter("half_bandwidth_bytes", alpha / a_byte);
}
GPU_BENCHMARK(all_reduce, line)
    ->Axis("of", {"all_reduce", "reduce_scatter", "all_gather", "broadcast", "all_to_all"})
    ->ArgName("ranks [GPUs]", {2, 1024})
    ->Each({2, 4, 8, 16, 64, 72, 1024})
    ->In(Suite::full);

// --- own kernels, over peer-to-peer memory ---

// A vector of each rank's, and one for the sums, which all ranks reach.
class PeerVectors {
 public:
  struct Set {
    std::vector<DeviceBuffer<float>> in, out;
    Peers<const float> inputs, sums;
  };

  PeerVectors(Bench& bench, const GpuRanks& ranks, std::size_t n) {
    let_access(bench, ranks);
    const auto count = static_cast<unsigned>(ranks.count());
    sets_ = bench.per_set(2 * n * sizeof(float), [&ranks, n, count] {
      Set made{{}, {}, {{}, count}, {{}, count}};
      ranks.each([&](int i) {
        made.in.emplace_back(n);
        made.out.emplace_back(n);
        float* const in = made.in.back().data();
        gpubench::fill_random(in, n, Contribution<float>{static_cast<unsigned>(i)});
        made.out.back().set(gpubench::poison_byte);
        made.inputs.of[i] = in;
        made.sums.of[i] = made.out.back().data();
      });
      return made;
    });
    bench.check([this, &ranks, n, count](bool only_written) {
      std::string found;
      ranks.each([&](int i) {
        const std::string here = gpubench::check_elements(
            sets_->sums.of[i], n, ExpectedSum<float>{count, 0}, 0, 0, only_written);
        if (!here.empty()) found = "rank " + std::to_string(i) + ": " + here;
      });
      return found;
    });
  }

  const Set& operator*() const { return *sets_; }

 private:
  static void let_access(const Bench& bench, const GpuRanks& ranks) {
    for (int i = 0; i < ranks.local(); ++i) {
      for (int j = 0; j < ranks.local(); ++j) {
        if (i == j || ranks.let_access(i, j)) continue;
        bench.skip("GPU " + std::to_string(i) + " cannot access the memory of GPU " +
                   std::to_string(j));
      }
    }
  }

  gpubench::PerSet<Set> sets_;
};

// `one_shot`: everybody reads everything. Otherwise in two steps.
template <bool one_shot>
void by_peers(Bench& bench) {
  if (gpubench::ProcessGroup::all().count() > 1)
    bench.skip("accesses the memory of all ranks: run it without mpirun");
  const GpuRanks& ranks = bench.ranks(bench.arg("ranks"));
  const auto size = bench.arg<std::size_t>("size");
  const std::size_t n = size / sizeof(float);
  const auto count = static_cast<unsigned>(ranks.count());
  const PeerVectors vectors(bench, ranks, n);
  const double factor = one_shot ? one_shot_factor(count) : all_reduce_factor(count);
  const auto link = wire(bench, count);
  say_work(bench, link ? std::optional(*link / factor) : std::nullopt, static_cast<double>(size),
           count);
  const std::size_t share = one_shot ? n : (n + count - 1) / count;
  const auto blocks = static_cast<unsigned>((share + threads - 1) / threads);
  bench.run([&](cudaStream_t s) {
    const PeerVectors::Set& v = *vectors;
    ranks.fork(s);
    ranks.each([&](int i) {
      const cudaStream_t stream = ranks.stream(i, s);
      if constexpr (one_shot) {
        launch(reduce_all<float>, blocks, threads, 0, stream, v.inputs, v.out[i].data(), n,
               static_cast<unsigned>(i));
      } else {
        launch(reduce_share<float>, blocks, threads, 0, stream, v.inputs, v.out[i].data(), n,
               static_cast<unsigned>(i));
      }
    });
    if constexpr (!one_shot) {
      ranks.meet(s);
      ranks.each([&](int i) {
        launch(fetch_shares<float>, dim3(blocks, count - 1), threads, 0, ranks.stream(i, s), v.sums,
               v.out[i].data(), n, static_cast<unsigned>(i));
      });
    }
    ranks.join(s);
  });
  say_bandwidths(bench, Collective::all_reduce, static_cast<double>(size), ranks.count());
}
GPU_BENCHMARK_AS(all_reduce, two_step, by_peers<false>)
    ->ArgNames({"ranks [GPUs]", "size [bytes]"})
    ->ArgsProduct({{8}, {2048, 1 << 29}})
    ->Takes("size", {2048, 1 << 30, 2048});
GPU_BENCHMARK_AS(all_reduce, two_step, by_peers<false>)
    ->ArgNames({"ranks [GPUs]", "size [bytes]"})
    ->ArgsProduct({{8}, {1 << 15, 1 << 18, 1 << 21, 1 << 25}})
    ->ArgsProduct({{2, 4}, {2048, 1 << 15, 1 << 18, 1 << 21, 1 << 25, 1 << 29}})
    ->In(Suite::full);
GPU_BENCHMARK_AS(all_reduce, one_shot, by_peers<true>)
    ->ArgNames({"ranks [GPUs]", "size [bytes]"})
    ->ArgsProduct({{2, 4, 8}, {2048, 1 << 15, 1 << 18, 1 << 21, 1 << 25, 1 << 29}})
    ->Takes("size", {2048, 1 << 30, 2048})
    ->In(Suite::full);

// --- own kernels whose sums the switch takes ---

GPU_BENCHMARK_BY(all_reduce, nvls)
    ->Functions("dtype", {{"fp32", in_switch<float, false>},
                          {"fp16", in_switch<__half, false>},
                          {"bf16", in_switch<__nv_bfloat16, false>}})
    ->ArgNames({"ranks [GPUs]", "size [bytes]"})
    ->ArgsProduct({{2, 4, 8}, {2048, 1 << 15, 1 << 18, 1 << 21, 1 << 25, 1 << 29}})
    ->Takes("size", {2048, 1 << 30, 2048})
    ->In(Suite::full);
// Sums begin at 0. The model tells what blocks have added that it has not run by pages that nobody
// has touched, which takes vectors that it runs whole, or that fill their memory.
GPU_BENCHMARK_BY(all_reduce, nvls_add)
    ->Functions("dtype", {{"fp32", in_switch<float, true>},
                          {"fp16", in_switch<__half, true>},
                          {"bf16", in_switch<__nv_bfloat16, true>}})
    ->ArgNames({"ranks [GPUs]", "size [bytes]"})
    ->ArgsProduct({{2, 4, 8}, {2048, 1 << 15, 1 << 21, 1 << 25, 1 << 29}})
    ->In(Suite::full);

// --- behind a backward pass ---

constexpr std::size_t gradient_bytes = std::size_t{100} << 20;
// The pass is stood in for by so many bytes written for each byte of gradient: about 2 ms in all
// on an H200, as long as small buckets take on the wire and several times as long as large ones.
constexpr std::size_t written_a_byte = 80;

void overlap(Bench& bench) {
  if (!Communicator::is_built()) bench.skip("built without NCCL");
  const GpuRanks& ranks = bench.ranks(bench.arg("ranks"), 12e-3);
  const auto bucket = bench.arg<std::size_t>("bucket");
  const std::size_t buckets = gradient_bytes / bucket, count = bucket / sizeof(float);
  const RankedCollective<float> collective(bench, ranks, Collective::all_reduce,
                                           gradient_bytes / sizeof(float), true);
  std::vector<DeviceBuffer<char>> pass;
  std::vector<gpubench::Stream> wires;
  std::vector<gpubench::Event> ready;
  int least = 0, greatest = 0;
  CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  ranks.each([&](int) {
    pass.emplace_back(bucket * written_a_byte);
    wires.emplace_back(cudaStreamNonBlocking, greatest);  // not behind the pass that it overlaps
    ready.emplace_back(cudaEventDisableTiming);
  });
  const auto backward = [&](cudaStream_t s, bool send) {
    ranks.fork(s);
    for (std::size_t b = 0; b < buckets; ++b) {
      ranks.each([&](int i) {
        const cudaStream_t stream = ranks.stream(i, s);
        CUDA_CHECK(cudaMemsetAsync(pass[i].data(), 0, pass[i].bytes(), stream));
        if (!send) return;
        ready[i].record(stream);
        ready[i].hold(wires[i]);
      });
      if (send) collective.queue(b * count, count, [&](int i) -> cudaStream_t { return wires[i]; });
    }
    ranks.each([&](int i) {
      if (!send) return;
      ready[i].record(wires[i]);
      ready[i].hold(ranks.stream(i, s));
    });
    ranks.join(s);
  };
  bench.check([&](bool) { return collective.wrong(bench.priced()); });
  const auto law = std::make_shared<double>(0);  // of the parts, which are timed after the whole
  bench.work({.useful_bytes = gradient_bytes,
              .law = [law](const Roofs&) { return *law; },
              .law_tolerance = 0.1});
  bench.run([&](cudaStream_t s) { backward(s, true); });
  const double compute = bench.time([&](cudaStream_t s) { backward(s, false); });
  const double send = bench.time([&](cudaStream_t s) { collective.queue(s, count); });
  *law = gradient_bytes / overlapped_seconds(compute, send, static_cast<double>(buckets));
  bench.counter("compute_seconds", compute);
  bench.counter("exposed_seconds", std::max(0.0, bench.seconds() - compute));
}
GPU_BENCHMARK(all_reduce, overlap)
    ->ArgNames({"ranks [GPUs]", "bucket [bytes]"})
    ->ArgsProduct({{8}, {1 << 20, 4 << 20, 100 << 20}})
    ->Rest(Suite::full)
    ->Args({8, 25 << 20});

GPU_BENCHMARK(all_reduce, beside_product)
    ->ArgNames({"ranks [GPUs]", "m [tokens]"})
    ->ArgsProduct({{8}, {64, 512, 8192}})
    ->Takes("m", {64, 16384, 64})
    ->In(Suite::full);

// --- NCCL's rows ---

constexpr std::int64_t most = std::int64_t{8} << 30;  // bytes
using RanksAndSizes = std::vector<std::vector<std::int64_t>>;

// The full suite has all sizes from `least` on; the default one the `chosen` rows, in ascending
// order, of fp32 out of place. An NVL72 has 72 ranks in one domain of NVLink; sums of 1,024 are not
// exact in 16 bits.
void rows(Registration* to, std::int64_t least, RanksAndSizes chosen, bool in_place) {
  RanksAndSizes all, rare, most_ranks;
  for (const std::int64_t ranks : {2, 4, 8, 16, 64, 72}) {
    for (std::int64_t size = least; size <= most; size *= 4) all.push_back({ranks, size});
  }
  for (std::int64_t size = 8192; size <= most; size *= 4) most_ranks.push_back({1024, size});
  std::ranges::set_difference(all, chosen, std::back_inserter(rare));
  to->Axis("dtype", {"fp32"})->Axis("place", {"out"})->ArgNames({"ranks [GPUs]", "size [bytes]"});
  to->Takes("ranks", {2, 1024})->Takes("size", {4096, most, 4096});
  to->In(Suite::full)->Rows(rare)->Rest(Suite::standard)->Rows(chosen);
  to->Rest(Suite::full)->Rows(most_ranks);
  if (in_place) to->Rest(Suite::full)->Axis("place", {"in"})->Rows(all);
  std::vector<std::string> places{"out"};
  if (in_place) places.push_back("in");
  to->Rest(Suite::full)->Axis("dtype", {"fp16", "bf16"})->Axis("place", places)->Rows(all);
}
const RanksAndSizes many{{2, 1 << 29}, {8, 8},    {8, 32768},   {8, 1 << 21},
                         {8, 1 << 29}, {8, most}, {64, 1 << 29}};
const RanksAndSizes few{{8, 2048}, {8, 1 << 21}, {8, 1 << 29}}, fewest{{8, 2048}, {8, 1 << 29}};
GPU_BENCHMARK_AS(all_reduce, all_reduce, by_dtype<Collective::all_reduce>)
    ->Apply(rows, 8, many, true);
GPU_BENCHMARK_AS(all_reduce, reduce_scatter, by_dtype<Collective::reduce_scatter>)
    ->Apply(rows, 2048, few, true);
GPU_BENCHMARK_AS(all_reduce, all_gather, by_dtype<Collective::all_gather>)
    ->Apply(rows, 2048, fewest, true);
GPU_BENCHMARK_AS(all_reduce, broadcast, by_dtype<Collective::broadcast>)
    ->Apply(rows, 2048, fewest, true);
// NCCL has none in place.
GPU_BENCHMARK_AS(all_reduce, all_to_all, by_dtype<Collective::all_to_all>)
    ->Apply(rows, 2048, RanksAndSizes{}, false);

}  // namespace
