// reduction: a sum, twelve ways: what does each step up the ladder buy?
//
// Expected  The last rungs are a persistent grid (in two launches, in one whose last block adds up
//           the rest, in one whose blocks all meet, or with atomics at its end) and CUB. They are
//           as fast as stream/read, because a sum reads every word once and has nothing else to do.
//           Earlier rungs pay for shared memory, for barriers and for blocks; the more of these per
//           word, the slower. (Requests and conflicts of shared memory are counted, and
//           law_per_request is exact.) Thrust sums as CUB does, but it also allocates memory,
//           waits, and copies its result to the host, so it has no law.
// Units     Every row adds 2^26 fp32 words to one number. The time includes all launches.
// Confirm   ncu --metrics dram__bytes_read.sum,
//           smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
#include <cmath>

#include "harness/bench/bench.hpp"
#include "harness/cuda/stream.hpp"
#include "harness/platform/library_sums.hpp"
#include "kernels/reduction.cuh"

namespace {

using namespace reduction;
using gpubench::DeviceBuffer;

constexpr std::size_t n = std::size_t{1} << 26;
// Summed again, whole, where the model has executed but some blocks of the timed shape.
constexpr std::size_t few = 8191;

struct Zero {
  __host__ __device__ unsigned operator()(std::size_t) const { return 0; }
};

// What a rung sums up, and the memory that it needs for that.
struct Sum {
  const float* in;
  std::size_t n;
  float *of_blocks, *rest, *out;
  unsigned* ticket;
  float* on_host;  // where a library leaves it
};
using Rung = std::function<void(cudaStream_t, const Sum&)>;
using Words = decltype(gpubench::Input<float>{}.values());

Work as_stream_read() {
  return {.useful_bytes = n * sizeof(float),
          .law = [](const Roofs& roofs) { return roofs.at("dram"); },
          .law_tolerance = 0.2};
}

// `blocks`: of the first launch; `expected`: what each of them leaves.
template <class Expected>
void run_sum(Bench& bench, unsigned blocks, Expected&& expected, const Work& work, Rung rung) {
  const auto in = bench.input<float>(n);
  const auto of_blocks = bench.output<float>(blocks), rest = bench.output<float>(blocks),
             out = bench.output<float>(1);
  const auto ticket = bench.input<unsigned>(1, Zero{});
  if (blocks > 0) bench.verify(of_blocks, expected(in.values()));
  float on_host = NAN;
  bench.check([=, &bench, &on_host](bool only_written) {
    const bool whole = !only_written && !bench.priced();
    const DeviceBuffer<float> sums(few), own_rest(few), own_out(1);
    if (!whole) {
      const DeviceBuffer<unsigned> own_ticket(1);
      own_ticket.set(0);
      const gpubench::Stream s;
      rung(s, {in, few, sums.data(), own_rest.data(), own_out.data(), own_ticket.data(), &on_host});
      s.synchronize();
    }
    float got = on_host;
    if (std::isnan(got)) {
      const float* const left = whole ? out.data() : own_out.data();
      CUDA_CHECK(cudaMemcpy(&got, left, sizeof got, cudaMemcpyDeviceToHost));
    }
    double sum = 0;
    for (std::size_t i = 0; i < (whole ? n : few); ++i) sum += in.values()(i);
    // The words are multiples of 2^-10, of which fp32 does not hold sums beyond 2^14.
    const auto want = static_cast<float>(sum);
    const bool right = gpubench::is_right(got, want, 1e-5, 0);
    return right ? std::string() : "the sum: " + gpubench::describe_wrong(0, got, want);
  });
  bench.work(work);
  bench.run([&](cudaStream_t s) { rung(s, {in, n, of_blocks, rest, out, ticket, &on_host}); });
}

// The same kernel again and again, until one sum is left. `blocks(words)`: of a launch.
template <class Kernel, class Blocks>
Rung by_levels(Kernel kernel, Blocks blocks) {
  return [=](cudaStream_t s, const Sum& sum) {
    const float* in = sum.in;
    float *to = sum.of_blocks, *next = sum.rest;
    for (std::size_t words = sum.n;;) {
      const unsigned count = blocks(words);
      launch(kernel, count, threads, 0, s, in, count == 1 ? sum.out : to, words);
      if (count == 1) return;
      words = count;
      in = to;
      to = next;
      next += blocks(words);
    }
  };
}

template <class Kernel>
void levels(Bench& bench, Kernel kernel, unsigned words_a_block, double loads_law) {
  const auto blocks = [=](std::size_t words) {
    return static_cast<unsigned>((words + words_a_block - 1) / words_a_block);
  };
  run_sum(
      bench, blocks(n),
      [=](Words words) {
        return ExpectedSideBySide<Words>{words, n, words_a_block};
      },
      {.useful_bytes = n * sizeof(float),
       .access = loads_law > 0 ? RowAccess::shared_load : RowAccess::global_load,
       .law_per_request = loads_law},
      by_levels(kernel, blocks));
}

template <class Order, unsigned loads = 1, bool unrolled = false>
void tree_of(Bench& bench) {
  levels(bench, tree<Order, loads, unrolled>, threads * loads,
         loads_of_tree<Order, unrolled>().wavefronts_a_request());
}

void staying(Bench& bench, const std::string& by) {
  const auto resident = by == "grid_sync"
                            ? gpubench::residency(grid_sync, threads, grid_sync_shared_bytes)
                            : gpubench::residency(grid_stride, threads, 0);
  const unsigned most = resident.blocks * gpubench::sm_count();
  const auto blocks = [=](std::size_t words) {
    constexpr std::size_t a_block = threads * words_a_round;
    return static_cast<unsigned>(std::min<std::size_t>(most, (words + a_block - 1) / a_block));
  };
  Rung rung = by_levels(grid_stride, blocks);
  if (by == "last_block") {
    rung = [=](cudaStream_t s, const Sum& sum) {
      launch(last_block, blocks(sum.n), threads, 0, s, sum.in, sum.of_blocks, sum.out, sum.ticket,
             sum.n);
    };
  } else if (by == "grid_sync") {
    rung = [=](cudaStream_t s, const Sum& sum) {
      gpubench::launch_cooperative(grid_sync, blocks(sum.n), threads, grid_sync_shared_bytes, s,
                                   sum.in, sum.of_blocks, sum.out, sum.n);
    };
  } else if (by == "atomic") {
    rung = [=](cudaStream_t s, const Sum& sum) {
      CUDA_CHECK(cudaMemsetAsync(sum.out, 0, sizeof(float), s));
      launch(atomic_sums, blocks(sum.n), threads, 0, s, sum.in, sum.of_blocks, sum.out, sum.n);
    };
  }
  run_sum(
      bench, blocks(n),
      [=](Words words) {
        return ExpectedStriding<Words>{words, n, blocks(n)};
      },
      as_stream_read(), rung);
}

void library(Bench& bench, bool thrust) {
  const gpubench::CubSum cub(n);
  if (thrust) bench.blocks_host();
  const auto none = [](Words words) { return words; };
  Work work = as_stream_read();
  if (thrust) work.law = {};
  run_sum(bench, 0, none, work, [=, &cub](cudaStream_t s, const Sum& sum) {
    if (!thrust) return cub.queue(sum.in, sum.n, sum.out, s);
    *sum.on_host = gpubench::thrust_sum(sum.in, sum.n, s);
  });
}

void sum(Bench& bench) {
  const std::string& by = bench.axis("by");
  if (by == "divergent") return tree_of<Divergent>(bench);
  if (by == "conflicting") return tree_of<Conflicting>(bench);
  if (by == "sequential") return tree_of<Sequential>(bench);
  if (by == "first_add") return tree_of<Sequential, 2>(bench);
  if (by == "unrolled") return tree_of<Sequential, 2, true>(bench);
  if (by == "shuffle") return levels(bench, shuffled, 2 * threads, 0);
  if (by == "cub" || by == "thrust") return library(bench, by == "thrust");
  return staying(bench, by);
}
GPU_BENCHMARK(reduction, sum)
    ->Axis("by", {"divergent", "conflicting", "sequential", "first_add", "unrolled", "shuffle",
                  "grid_stride", "last_block", "atomic", "cub", "thrust"})
    ->Rest(Suite::full)
    ->Axis("by", {"grid_sync"});

}  // namespace
