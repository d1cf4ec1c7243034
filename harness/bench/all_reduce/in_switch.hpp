// Rows of the all-reduce whose sums the switch takes.
#pragma once

#include <cstddef>
#include <string>

#include "harness/bench/all_reduce/ranked_collective.hpp"
#include "harness/bench/multimem.hpp"
#include "kernels/all_reduce/in_switch.cuh"

namespace all_reduce {

// A vector of each rank's, and one for the sums, in memory that one address reaches on all GPUs.
// One set of them: a GPU's memory is many times as fast as its link, so that it hardly matters what
// L2 remembers, and a switch has room for few multicast objects.
template <class T>
class SwitchVectors {
 public:
  SwitchVectors(Bench& bench, const GpuRanks& ranks, std::size_t n)
      : in_(ranks, n * sizeof(T)), sums_(ranks, n * sizeof(T)) {
    ranks.each([&](int i) {
      gpubench::fill_random(in_of(i), n, Contribution<T>{static_cast<unsigned>(i)});
      gpubench::set_memory(sums_of(i), gpubench::poison_byte, sums_.bytes());
    });
    bench.check([this, &ranks, n](bool only_written) {
      std::string found;
      ranks.each([&](int i) {
        const ExpectedSum<T> expected{static_cast<unsigned>(ranks.count()), 0};
        const std::string here =
            gpubench::check_elements(sums_of(i), n, expected, 0, 0, only_written);
        if (!here.empty()) found = "rank " + std::to_string(i) + ": " + here;
      });
      return found;
    });
  }

  // Multicast addresses.
  const T* in() const { return static_cast<const T*>(in_.everywhere()); }
  T* sums() const { return static_cast<T*>(sums_.everywhere()); }
  // Rank i's own.
  T* in_of(int i) const { return static_cast<T*>(in_.on(i)); }
  T* sums_of(int i) const { return static_cast<T*>(sums_.on(i)); }

 private:
  gpubench::MulticastMemory in_, sums_;
};

// Skips the row where the machine lacks what they need, as where not even a small one is to be had.
template <class T>
SwitchVectors<T> vectors_or_skip(Bench& bench, const GpuRanks& ranks, std::size_t n) {
  try {
    return SwitchVectors<T>(bench, ranks, n);
  } catch (const gpubench::CudaError& error) {
    const std::string why = gpubench::MulticastMemory::why_not(error);
    if (why.empty()) throw;
    bench.skip(why);
  }
}

// The law: the link carries `factor` bytes for each of the vector's, as fast as in NCCL's
// all-reduce by 8 GPUs, whose bus bandwidth the device file has.
inline void say_switch_work(Bench& bench, double factor, double size, double ranks) {
  constexpr double published = 8;
  gpubench::Law law;
  const auto bus = bench.device().find("nvlink_sharp_bytes_per_second");
  if (bus && size >= wire_bytes(ranks)) {
    const double link = *bus / all_reduce_factor(published) * switch_factor(published);
    law = [rate = link / factor](const Roofs&) { return rate; };
  }
  bench.work({.useful_bytes = size, .law = law});
}

// `adds_to_all`: everybody adds to the sums of all. Otherwise everybody fetches and hands out its
// share of them.
template <class T, bool adds_to_all>
void in_switch(Bench& bench) {
  if (gpubench::ProcessGroup::all().count() > 1)
    bench.skip("nvls rows run in one process: start gpubench without mpirun");
  const GpuRanks& ranks = bench.ranks(bench.arg("ranks"));
  if (const std::string why = gpubench::why_no_multimem(ranks); !why.empty()) bench.skip(why);
  const auto size = bench.arg<std::size_t>("size");
  const std::size_t n = size / sizeof(T);
  const auto count = static_cast<unsigned>(ranks.count());
  const SwitchVectors<T> vectors = vectors_or_skip<T>(bench, ranks, n);
  say_switch_work(bench, adds_to_all ? add_to_all_factor(count) : switch_factor(count),
                  static_cast<double>(size), count);
  const std::size_t operations = n / numbers_at_once<T>;
  const std::size_t share = adds_to_all ? operations : (operations + count - 1) / count;
  const auto blocks = static_cast<unsigned>((share + threads - 1) / threads);
  bench.run([&](cudaStream_t s) {
    ranks.fork(s);
    if constexpr (adds_to_all) {
      ranks.each([&](int i) {
        CUDA_CHECK(cudaMemsetAsync(vectors.sums_of(i), 0, size, ranks.stream(i, s)));
      });
      ranks.meet(s);
      ranks.each([&](int i) {
        launch(add_to_all<T>, blocks, threads, 0, ranks.stream(i, s), vectors.in_of(i),
               vectors.sums(), n);
      });
    } else {
      ranks.each([&](int i) {
        launch(add_in_switch<T>, blocks, threads, 0, ranks.stream(i, s), vectors.in(),
               vectors.sums(), n, static_cast<unsigned>(i), count);
      });
    }
    ranks.join(s);
  });
  say_bandwidths(bench, Collective::all_reduce, static_cast<double>(size), ranks.count());
}

}  // namespace all_reduce
