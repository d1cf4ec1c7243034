// all_reduce: what does exchanging gradients between GPUs cost?
//
// Expected  Time = alpha + beta x size. A small message costs only latency, which grows with the
//           number of ranks. A large message reaches the bandwidth of the link. To compare
//           collectives, use the bus bandwidth busbw = algbw x f: it is the link's bandwidth at any
//           number of ranks. The factor f is 2(n-1)/n for an all-reduce, (n-1)/n for a
//           reduce-scatter or an all-gather of the whole size, and 1 for a broadcast. Across nodes,
//           the narrower of NVLink and the network decides. If the switch does the additions
//           (NVLS), each byte crosses the link once, not f times. The busbw of an all-reduce over 8
//           GPUs is then up to a fifth above the link's bandwidth. If buckets overlap with a
//           backward pass, only the last bucket adds time.
// Units     size [bytes of the whole vector], ranks [GPUs], bucket [bytes]. Inputs are small
//           integers, so that their sums are exact in any order. Rows run in one process unless
//           mpirun starts more.
// Confirm   NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING names the algorithm; nccl-tests reports the
//           same quantities
#include <algorithm>
#include <functional>
#include <iterator>

#include "harness/bench/bench.hpp"
#include "harness/cuda/communicator.hpp"
#include "kernels/all_reduce.cuh"

namespace {

using namespace all_reduce;
using gpubench::Collective;
using gpubench::Communicator;
using gpubench::DeviceBuffer;
using gpubench::GpuRanks;

// Beyond this size latency is gone, and the law is the wire's.
constexpr double wire_bytes = 256.0 * (1 << 20);

double factor(Collective what, double ranks) {
  return what == Collective::all_reduce  ? all_reduce_factor(ranks)
         : what == Collective::broadcast ? broadcast_factor(ranks)
                                         : scatter_or_gather_factor(ranks);
}

// One direction of what connects the ranks [bytes/s]; nothing where nobody has said.
std::optional<double> wire(const Bench& bench, double ranks) {
  const auto link = bench.device().find("nvlink_bytes_per_second");
  const double in_node = std::min(ranks, bench.device().find("node_gpus").value_or(ranks));
  if (ranks == in_node || !link) return link;
  const auto network = bench.device().find("network_bytes_per_second");
  return network ? std::optional(std::min(*link, in_node * *network)) : std::nullopt;
}

void say_work(Bench& bench, Collective what, double size, double ranks) {
  gpubench::Law law;
  const auto bandwidth = wire(bench, ranks);
  if (size >= wire_bytes && bandwidth) {
    law = [=](const Roofs&) { return *bandwidth / factor(what, ranks); };
  }
  // NVLS reads up to 27 % above the wire (H100: 476 to 376 GB/s).
  bench.work({.useful_bytes = size, .law = law, .law_tolerance = 0.3});
}

void say_bandwidths(Bench& bench, Collective what, double size, double ranks) {
  bench.counter("algorithm_bytes_per_second", size / bench.seconds());
  bench.counter("bus_bytes_per_second", size / bench.seconds() * factor(what, ranks));
}

// A collective over all ranks, with its buffers: `brought` and `taken` elements a rank.
template <class T>
class RankedCollective {
  // Of all ranks of this process.
  struct Buffers {
    std::vector<DeviceBuffer<T>> all;
    std::vector<gpubench::Ends> ends;
    T* add(std::size_t elements) { return all.emplace_back(elements).data(); }
  };

 public:
  RankedCollective(Bench& bench, const GpuRanks& ranks, Collective what, std::size_t count,
                   bool in_place)
      : ranks_(ranks), what_(what), count_(count), communicator_(ranks) {
    const auto n = static_cast<std::size_t>(ranks.count());
    const std::size_t brought = what == Collective::reduce_scatter ? count * n : count;
    const std::size_t taken = what == Collective::all_gather ? count * n : count;
    const std::size_t elements = in_place ? std::max(brought, taken) : brought + taken;
    buffers_ = bench.per_set(elements * sizeof(T), [=, &ranks] {
      Buffers made;
      ranks.each([&](int i) {
        const auto rank = static_cast<std::size_t>(ranks.rank(i));
        T* const send = made.add(in_place ? elements : brought);
        T* const receive = in_place ? send : made.add(taken);
        // In place, a share lies where it belongs in the whole.
        const std::size_t share = in_place ? rank * count : 0;
        made.ends.push_back({send + (what == Collective::all_gather ? share : 0),
                             receive + (what == Collective::reduce_scatter ? share : 0)});
        if (!in_place || what != Collective::all_gather) {
          gpubench::fill_random(send, brought, Contribution<T>{static_cast<unsigned>(rank)});
        } else {
          gpubench::fill_random(send, taken, ExpectedGather<T>{count});
        }
      });
      return made;
    });
  }

  // `count` elements a rank from its element `first` on, in the ranks' streams of that name.
  template <class StreamOf>
  void queue(std::size_t first, std::size_t count, const StreamOf& stream) const {
    std::vector<gpubench::Ends> ends;
    for (const auto& [send, receive] : buffers_->ends) {
      ends.push_back({static_cast<const T*>(send) + first, static_cast<T*>(receive) + first});
    }
    communicator_.queue(what_, gpubench::number_of<T>, count, ends, stream);
  }
  void queue(cudaStream_t s, std::size_t count) const {
    ranks_.fork(s);
    queue(0, count, [&](int i) { return ranks_.stream(i, s); });
    ranks_.join(s);
  }
  void operator()(cudaStream_t s) const { queue(s, count_); }

  // "" or what is wrong. What the model has only priced is checked on its first elements: so few
  // that it computes them, a share from each rank to each.
  std::string wrong(bool priced) const {
    const auto ranks = static_cast<std::size_t>(ranks_.count());
    const std::size_t few = std::min<std::size_t>(1009, (1 << 20) / (ranks * ranks));
    const std::size_t count = priced ? std::min(count_, few) : count_;
    if (priced) {
      const gpubench::Stream s;
      queue(s, count);
      s.synchronize();
    }
    std::string found;
    ranks_.each([&](int i) {
      const T* got = static_cast<const T*>(buffers_->ends[static_cast<std::size_t>(i)].receive);
      const auto n = static_cast<unsigned>(ranks_.count());
      const auto rank = static_cast<std::size_t>(ranks_.rank(i));
      const auto check = [&](std::size_t elements, auto expected) {
        return elements == 0 ? std::string()
                             : gpubench::check_elements(got, elements, expected, 0, 0, false);
      };
      std::string here;
      switch (what_) {
        case Collective::all_reduce:
          here = check(count, ExpectedSum<T>{n, 0});
          break;
        case Collective::reduce_scatter:
          here = check(count, ExpectedSum<T>{n, rank * count});
          break;
        case Collective::all_gather:
          here = check(count * n, ExpectedGather<T>{count});
          break;
        case Collective::broadcast:
          here = check(count, Contribution<T>{0});
          break;
      }
      if (!here.empty()) found = "rank " + std::to_string(rank) + ": " + here;
    });
    return found;
  }

 private:
  const GpuRanks& ranks_;
  Collective what_;
  std::size_t count_;
  Communicator communicator_;
  gpubench::PerSet<Buffers> buffers_;
};

template <Collective what, class T>
void timed(Bench& bench) {
  if (!Communicator::is_built()) bench.skip("built without NCCL");
  const GpuRanks& ranks = bench.ranks(bench.arg("ranks"));
  const auto size = bench.arg<std::size_t>("size");
  const bool shares = what == Collective::reduce_scatter || what == Collective::all_gather;
  const std::size_t parts = shares ? static_cast<std::size_t>(ranks.count()) : 1;
  const RankedCollective<T> collective(bench, ranks, what, size / sizeof(T) / parts,
                                       bench.axis("place") == "in");
  bench.check([&](bool) { return collective.wrong(bench.priced()); });
  say_work(bench, what, static_cast<double>(size), ranks.count());
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

// --- the teaching rung: two kernels over peer-to-peer memory ---

void two_step(Bench& bench) {
  if (gpubench::ProcessGroup::all().count() > 1)
    bench.skip("accesses the memory of all ranks: run it without mpirun");
  const GpuRanks& ranks = bench.ranks(bench.arg("ranks"));
  for (int i = 0; i < ranks.local(); ++i) {
    for (int j = 0; j < ranks.local(); ++j) {
      if (i != j && !ranks.let_access(i, j)) {
        bench.skip("GPU " + std::to_string(i) + " cannot access the memory of GPU " +
                   std::to_string(j));
      }
    }
  }
  const auto size = bench.arg<std::size_t>("size");
  const std::size_t n = size / sizeof(float);
  const auto count = static_cast<unsigned>(ranks.count());
  struct Buffers {
    std::vector<DeviceBuffer<float>> in, out;
    Peers<const float> inputs, sums;
  };
  const auto buffers = bench.per_set(2 * size, [&, n, size, count] {
    Buffers made{{}, {}, {{}, count}, {{}, count}};
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
  bench.check([&](bool only_written) {
    std::string found;
    ranks.each([&](int i) {
      const std::string here = gpubench::check_elements(
          buffers->sums.of[i], n, ExpectedSum<float>{count, 0}, 0, 0, only_written);
      if (!here.empty()) found = "rank " + std::to_string(i) + ": " + here;
    });
    return found;
  });
  say_work(bench, Collective::all_reduce, static_cast<double>(size), ranks.count());
  const std::size_t share = (n + count - 1) / count;
  const auto blocks = static_cast<unsigned>((share + threads - 1) / threads);
  bench.run([&](cudaStream_t s) {
    const Buffers& b = *buffers;
    ranks.fork(s);
    ranks.each([&](int i) {
      launch(reduce_share<float>, blocks, threads, 0, ranks.stream(i, s), b.inputs, b.out[i].data(),
             n, static_cast<unsigned>(i));
    });
    ranks.meet(s);
    ranks.each([&](int i) {
      launch(fetch_shares<float>, dim3(blocks, count - 1), threads, 0, ranks.stream(i, s), b.sums,
             b.out[i].data(), n, static_cast<unsigned>(i));
    });
    ranks.join(s);
  });
  say_bandwidths(bench, Collective::all_reduce, static_cast<double>(size), ranks.count());
}
GPU_BENCHMARK(all_reduce, two_step)
    ->ArgNames({"ranks [GPUs]", "size [bytes]"})
    ->ArgsProduct({{8}, {2048, 1 << 29}})
    ->Takes("size", {2048, 1 << 30, 2048});
GPU_BENCHMARK(all_reduce, two_step)
    ->ArgNames({"ranks [GPUs]", "size [bytes]"})
    ->ArgsProduct({{8}, {1 << 21, 1 << 25}})
    ->ArgsProduct({{2, 4}, {2048, 1 << 21, 1 << 25, 1 << 29}})
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

// --- NCCL's rows ---

constexpr std::int64_t most = std::int64_t{8} << 30;  // bytes
using RanksAndSizes = std::vector<std::vector<std::int64_t>>;

// The full suite has all sizes from `least` on; the default one the `chosen` rows, in ascending
// order, of fp32 out of place.
void rows(Registration* to, std::int64_t least, RanksAndSizes chosen) {
  RanksAndSizes all, rare;
  for (const std::int64_t ranks : {2, 4, 8, 16, 64}) {
    for (std::int64_t size = least; size <= most; size *= 4) all.push_back({ranks, size});
  }
  std::ranges::set_difference(all, chosen, std::back_inserter(rare));
  to->Axis("dtype", {"fp32"})->Axis("place", {"out"})->ArgNames({"ranks [GPUs]", "size [bytes]"});
  to->Takes("ranks", {2, 64})->Takes("size", {4096, most, 4096});
  to->In(Suite::full)->Rows(rare)->Rest(Suite::standard)->Rows(chosen);
  to->Rest(Suite::full)->Axis("place", {"in"})->Rows(all);
  to->Rest(Suite::full)->Axis("dtype", {"fp16", "bf16"})->Axis("place", {"out", "in"})->Rows(all);
}
const RanksAndSizes many{{2, 1 << 29}, {8, 8},    {8, 32768},   {8, 1 << 21},
                         {8, 1 << 29}, {8, most}, {64, 1 << 29}};
const RanksAndSizes few{{8, 2048}, {8, 1 << 21}, {8, 1 << 29}}, fewest{{8, 2048}, {8, 1 << 29}};
GPU_BENCHMARK_AS(all_reduce, all_reduce, by_dtype<Collective::all_reduce>)->Apply(rows, 8, many);
GPU_BENCHMARK_AS(all_reduce, reduce_scatter, by_dtype<Collective::reduce_scatter>)
    ->Apply(rows, 2048, few);
GPU_BENCHMARK_AS(all_reduce, all_gather, by_dtype<Collective::all_gather>)
    ->Apply(rows, 2048, fewest);
GPU_BENCHMARK_AS(all_reduce, broadcast, by_dtype<Collective::broadcast>)->Apply(rows, 2048, fewest);

}  // namespace
