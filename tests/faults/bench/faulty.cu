// faulty: what becomes of a run when a row breaks?
//
// Each row has one fault, and sound rows stand between them; tests/bench/test_faults.py says what
// must become of each.
#include <cuda_runtime.h>

#include <chrono>
#include <csignal>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "harness/bench/bench.hpp"
#include "kernels/faulty.cuh"

namespace {

using namespace faulty;

using Kernel = void (*)(float*, const float*);

template <class Values>
struct Doubled {
  Values values;
  float operator()(std::size_t i) const { return 2 * values(i); }
};
template <class Values>
Doubled(Values) -> Doubled<Values>;

constexpr double bytes = 2.0 * sizeof(float) * elements;

template <Kernel kernel>
void doubles(Bench& bench) {
  const auto in = bench.input<float>(elements);
  const auto out = bench.output<float>(elements);
  bench.verify(out, Doubled{in.values()});
  bench.work({.useful_bytes = bytes});
  bench.run([&](cudaStream_t s) { launch(kernel, blocks, threads, 0, s, out.data(), in.data()); });
}

#define FAULTY(kernel) GPU_BENCHMARK_AS(faulty, kernel, doubles<kernel>)

GPU_BENCHMARK_AS(faulty, sound_first, doubles<sound>)->ArgName("n")->DenseRange(1, 3);
FAULTY(out_of_bounds);
FAULTY(null_pointer);
FAULTY(misaligned);
FAULTY(shared_out_of_bounds);
FAULTY(race);
FAULTY(two_barriers);
FAULTY(shifts_too_far);
GPU_BENCHMARK_AS(faulty, sound_between, doubles<sound>)->ArgName("n")->DenseRange(1, 2);
FAULTY(traps);
FAULTY(aborts);
FAULTY(throws);
FAULTY(throws_a_number);
FAULTY(exits);
FAULTY(divides_by_zero);
FAULTY(large_stack);
FAULTY(recurses);

// Faults of one kernel in row after row: the fourth is not tried.
GPU_BENCHMARK_AS(faulty, always, doubles<traps>)->ArgName("n")->DenseRange(1, 5);

// --- faults of a bench file ---

void host_fault(Bench& bench) {
  volatile int* const nowhere = bench.profiled() ? new int : nullptr;
  *nowhere = 1;
}
GPU_BENCHMARK(faulty, host_fault);

void host_throws(Bench&) { throw std::runtime_error("the bench file's own mistake"); }
GPU_BENCHMARK(faulty, host_throws);

void host_throws_a_number(Bench&) { throw 42; }
GPU_BENCHMARK(faulty, host_throws_a_number);

void host_exits(Bench&) { std::exit(0); }
GPU_BENCHMARK(faulty, host_exits);

void host_is_killed(Bench&) { std::raise(SIGKILL); }
GPU_BENCHMARK(faulty, host_is_killed);

void host_bad_alloc(Bench&) { throw std::bad_alloc(); }
GPU_BENCHMARK(faulty, host_bad_alloc);

void never_runs(Bench& bench) { bench.work({.useful_bytes = bytes}); }
GPU_BENCHMARK(faulty, never_runs);

void verifies_nothing(Bench& bench) {
  const auto in = bench.input<float>(elements);
  const auto out = bench.output<float>(elements);
  bench.work({.useful_bytes = bytes});
  bench.run([&](cudaStream_t s) { launch(sound, blocks, threads, 0, s, out.data(), in.data()); });
}
GPU_BENCHMARK(faulty, verifies_nothing);

void too_much_device_memory(Bench& bench) {
  const auto out = bench.output<float>(std::size_t{1} << 45);
  bench.check([](bool) { return std::string(); });
  bench.run([&](cudaStream_t s) { CUDA_CHECK(cudaMemsetAsync(out.data(), 0, 4, s)); });
}
GPU_BENCHMARK(faulty, too_much_device_memory);

void wrong_launch(Bench& bench) {
  const auto in = bench.input<float>(elements);
  const auto out = bench.output<float>(elements);
  bench.verify(out, Doubled{in.values()});
  bench.run([&](cudaStream_t s) { launch(sound, blocks, 4096, 0, s, out.data(), in.data()); });
}
GPU_BENCHMARK(faulty, wrong_launch);

void wrong_free(Bench&) { CUDA_CHECK(cudaFree(reinterpret_cast<void*>(64))); }
GPU_BENCHMARK(faulty, wrong_free);

// --- what a limit ends ---

FAULTY(endless);
FAULTY(endless_loads);

void host_endless(Bench&) {
  for (;;) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}
GPU_BENCHMARK(faulty, host_endless);

void host_hoards(Bench&) {
  std::vector<std::vector<char>> hoard;
  for (;;) {
    hoard.emplace_back(std::size_t{16} << 20, 'x');
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}
GPU_BENCHMARK(faulty, host_hoards);

// --- numbers that are not to be trusted ---

FAULTY(returns_early);
FAULTY(returns_at_once);
FAULTY(writes_nan);
FAULTY(writes_infinity);
FAULTY(forgets_one);
FAULTY(is_off_by_one);

template <Kernel kernel>
void doubles_many(Bench& bench) {
  constexpr std::size_t all = std::size_t{many_blocks} * threads;
  const auto in = bench.input<float>(all);
  const auto out = bench.output<float>(all);
  bench.verify(out, Doubled{in.values()});
  bench.work({.useful_bytes = 2.0 * sizeof(float) * all});
  bench.run(
      [&](cudaStream_t s) { launch(kernel, many_blocks, threads, 0, s, out.data(), in.data()); });
}
GPU_BENCHMARK_AS(faulty, large_returns_early, doubles_many<large_returns_early>);
GPU_BENCHMARK_AS(faulty, large_returns_at_once, doubles_many<returns_at_once>);

struct One {
  float operator()(std::size_t) const { return 1; }
};
void loads_nothing(Bench& bench) {
  const auto in = bench.input<float>(elements);
  const auto out = bench.output<float>(blocks);
  bench.verify(out, One{});
  bench.work({.useful_bytes = 64.0 * sizeof(float) * elements});
  bench.run([&](cudaStream_t s) {
    launch(optimised_away, blocks, threads, 0, s, out.data(), in.data());
  });
}
GPU_BENCHMARK_AS(faulty, optimised_away, loads_nothing);

// Sound, but for what it says of itself.
constexpr double share = 0.55;  // of DRAM's bandwidth, which so small blocks reach
template <class Claim>
void claims(Bench& bench, Claim claim) {
  constexpr std::size_t all = std::size_t{many_blocks} * threads;
  const auto in = bench.input<float>(all);
  const auto out = bench.output<float>(all);
  bench.verify(out, Doubled{in.values()});
  Work work{.useful_bytes = 2.0 * sizeof(float) * all, .law = law_of_roof("dram", share)};
  claim(work);
  bench.work(work);
  bench.run(
      [&](cudaStream_t s) { launch(sound, many_blocks, threads, 0, s, out.data(), in.data()); });
}
void claims_truth(Bench& bench) {
  claims(bench, [](Work&) {});
}
void claims_fewer_moved_bytes(Bench& bench) {
  claims(bench, [](Work& work) { work.moved_bytes = work.useful_bytes / 2; });
}
void claims_more_useful_bytes(Bench& bench) {
  claims(bench, [](Work& work) { work.useful_bytes *= 2; });
}
void claims_more_moved_bytes(Bench& bench) {
  claims(bench, [](Work& work) { work.moved_bytes = work.useful_bytes * 2; });
}
void claims_half_the_law(Bench& bench) {
  claims(bench, [](Work& work) { work.law = law_of_roof("dram", share / 2); });
}
void claims_twice_the_law(Bench& bench) {
  claims(bench, [](Work& work) { work.law = law_of_roof("dram", share * 2); });
}
void claims_nan(Bench& bench) {
  claims(bench, [](Work& work) { work.useful_bytes = std::nan(""); });
}
void claims_negative_bytes(Bench& bench) {
  claims(bench, [](Work& work) { work.useful_bytes = -1; });
}
void claims_endless_flops(Bench& bench) {
  claims(bench, [](Work& work) { work.flops = 1e30; });
}
GPU_BENCHMARK(faulty, claims_truth);
GPU_BENCHMARK(faulty, claims_fewer_moved_bytes);
GPU_BENCHMARK(faulty, claims_more_useful_bytes);
GPU_BENCHMARK(faulty, claims_more_moved_bytes);
GPU_BENCHMARK(faulty, claims_half_the_law);
GPU_BENCHMARK(faulty, claims_twice_the_law);
GPU_BENCHMARK(faulty, claims_nan);
GPU_BENCHMARK(faulty, claims_negative_bytes);
GPU_BENCHMARK(faulty, claims_endless_flops);

GPU_BENCHMARK_AS(faulty, sound_last, doubles<sound>)->ArgName("n")->DenseRange(1, 3);

}  // namespace
