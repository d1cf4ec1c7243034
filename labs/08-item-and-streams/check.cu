// Checks lab 08: right losses and words, how often the host waits, what overlaps, and how fast.
#include <algorithm>
#include <array>
#include <stdexcept>

#include "harness/bench/bench.hpp"
#include "harness/cuda/event.hpp"
#include "harness/cuda/lanes.hpp"
#include "kernels/common/paced_work.cuh"
#include "labs/08-item-and-streams/given.cuh"
#include "labs/08-item-and-streams/interface.cuh"
#include "labs/host_calls.hpp"

namespace {

using gpubench::Bench;
using gpubench::Generator;
using gpubench::HostBuffer;

constexpr unsigned step_threads = 32, step_rounds = 1024;  // a step is one long chain
constexpr unsigned transform_threads = 256, transform_rounds = 1;

// What a program works on while it runs, and has queued so far.
struct Run {
  const float* weights = nullptr;            // that a step reads
  lab::Words* losses = nullptr;              // of steps, on the device
  lab::Words *in = nullptr, *out = nullptr;  // of transforms, on the device
  std::size_t steps = 0, transformed = 0;
  // After the last step that is queued, in the row that watches; and how many steps found nothing
  // before them on the device: so it is where the host waits, in whatever way.
  const gpubench::Event* stepped = nullptr;
  unsigned idled = 0;
};
Run* running = nullptr;
lab::ThrownLater thrown;

[[noreturn]] void fail(const char* what) { throw std::runtime_error(what); }

__global__ void step_kernel(const float* in, unsigned step, float* loss) {
  const float x = paced_work::after(in[threadIdx.x], step_rounds);
  if (threadIdx.x == 0) *loss = x + static_cast<float>(step);
}

__global__ void transform_kernel(const float* in, float* out, std::size_t n) {
  const std::size_t i = blockIdx.x * std::size_t{transform_threads} + threadIdx.x;
  if (i < n) out[i] = paced_work::after(in[i], transform_rounds);
}

// Runs `program` as `run`, with its calls heard by `calls`.
template <class Program>
void run_as(Run& run, const lab::HostCalls& calls, const Program& program) {
  running = &run;
  program();
  running = nullptr;
  thrown.rethrow();
  calls.expect_none_refused();
}

void check_train(Bench& bench, unsigned n, bool watched = false) {
  const auto in = bench.input<float>(step_threads);
  const auto on_device = bench.output<float>(n);
  HostBuffer<float> losses(n, true);
  bench.verify_host(
      losses.span(),
      [values = in.values()](std::size_t step) {
        return paced_work::after(values(0), step_rounds) + static_cast<float>(step);
      },
      {}, true);
  bench.poison_host_before_runs();
  bench.work({.items = 1.0 * n});
  bench.blocks_host();
  unsigned waits = 0;
  lab::WholeRuns runs;
  const gpubench::Event last(cudaEventDisableTiming);
  bench.run([&](cudaStream_t s) {
    lab::Words of_host(losses.data(), n), of_device(on_device.data(), n);
    Run run{.weights = in.data(), .losses = &of_device, .stepped = watched ? &last : nullptr};
    const lab::HostCalls counted({&of_host}, {&of_device});
    run_as(run, counted, [&] { lab::train(on_device.data(), losses.data(), n, s); });
    waits = std::max({waits, counted.waits(), run.idled});
    runs.expect("steps queued", run.steps, n);
    runs.expect("bytes copied across", counted.copied_bytes(), n * sizeof(float));
    runs.expect("losses came to their places", of_host.in_place(), n);
    runs.end_run();
  });
  bench.counter("host_waits", waits);
}

void check_pipeline(Bench& bench, std::size_t n) {
  HostBuffer<float> from(n, true), to(n, true);
  const auto in = bench.output<float>(n), out = bench.output<float>(n);
  const Generator<float> values = bench.input<float>(1).values();
  for (std::size_t i = 0; i < n; ++i) from.data()[i] = values(i);
  bench.verify_host(to.span(), paced_work::Expected<Generator<float>>{values, transform_rounds}, {},
                    true);
  bench.poison_host_before_runs();
  const double bytes = static_cast<double>(n) * sizeof(float);
  bench.work({.useful_bytes = 2 * bytes});
  bench.blocks_host();
  const gpubench::Lanes lanes(lab::streams);
  std::array<cudaStream_t, lab::streams> streams{};
  for (unsigned i = 0; i < lab::streams; ++i) streams[i] = lanes[i];
  lab::WholeRuns runs;
  bench.run([&](cudaStream_t s) {
    // Words of the source are numbered, and what transform() makes of them once more.
    lab::Words source(from.data(), n), in_words(in.data(), n), out_words(out.data(), n),
        target(to.data(), n);
    source.number();
    Run run{.in = &in_words, .out = &out_words};
    const lab::HostCalls counted({&source, &target}, {&in_words, &out_words});
    lanes.fork(s);
    run_as(run, counted, [&] {
      lab::pipeline(from.data(), in.data(), out.data(), to.data(), n, streams.data());
    });
    runs.expect("words were transformed", run.transformed, n);
    runs.expect("bytes copied across", counted.copied_bytes(), 2 * n * sizeof(float));
    runs.expect("words came to their places", target.in_place(n), n);
    runs.end_run();
    lanes.join(s);
  });
  const auto alone = [&](void* target, const void* source, cudaMemcpyKind kind) {
    return bench.time([&, kind](cudaStream_t s) {
      CUDA_CHECK(cudaMemcpyAsync(target, source, n * sizeof(float), kind, s));
    });
  };
  const double longest = std::max(alone(in.data(), from.data(), cudaMemcpyHostToDevice),
                                  alone(to.data(), out.data(), cudaMemcpyDeviceToHost));
  bench.counter("overlap_efficiency", longest / bench.seconds());
}

void check(Bench& bench, std::size_t n) {
  if (bench.axis("part") == "train") return check_train(bench, static_cast<unsigned>(n));
  check_pipeline(bench, n);
}

void correct(Bench& bench) { check(bench, static_cast<std::size_t>(bench.arg("n"))); }
GPU_BENCHMARK(lab, correct)->Axis("part", {"train"})->ArgName("n")->Arg(1)->Arg(2)->Arg(100);
GPU_BENCHMARK(lab, correct)
    ->Axis("part", {"pipeline"})
    ->ArgName("n")
    ->Arg(1)
    ->Arg(7)
    ->Arg(1000)
    ->Arg(4096)
    ->Arg(65537);

// Lengths that nobody knows beforehand: they come from the seed.
void fresh(Bench& bench) {
  const auto size = bench.input<unsigned>(2).values();
  check(bench, bench.axis("part") == "train" ? 3 + size(0) % 12 : 5000 + size(1) % 50000);
}
GPU_BENCHMARK(lab, fresh)->Axis("part", {"train", "pipeline"});

constexpr unsigned timed_steps = 16;

// As many steps as in the timed row, so that nobody can tell the two apart: to watch takes time.
void watched(Bench& bench) { check_train(bench, timed_steps, true); }
GPU_BENCHMARK(lab, watched)->Axis("part", {"train"});

void timed(Bench& bench) {
  check(bench, bench.axis("part") == "train" ? timed_steps : std::size_t{1} << 21);
}
GPU_BENCHMARK(lab, timed)->Axis("part", {"train", "pipeline"});

}  // namespace

void train_step(unsigned step, float* loss, cudaStream_t stream) {
  thrown.call([&] {
    if (running == nullptr || running->losses == nullptr) fail("train_step() is for train() alone");
    Run& run = *running;
    run.idled += run.steps++ > 0 && run.stepped != nullptr && run.stepped->has_happened();
    gpubench::launch(step_kernel, 1, step_threads, 0, stream, run.weights, step, loss);
    if (run.stepped != nullptr) run.stepped->record(stream);
    if (const auto word = run.losses->index(loss, sizeof *loss)) run.losses->set(*word, step);
  });
}

void transform(const float* in, float* out, std::size_t n, cudaStream_t stream) {
  thrown.call([&] {
    if (running == nullptr || running->in == nullptr) fail("transform() is for pipeline() alone");
    const auto holder = [](const float* first) {
      return running->in->hold(first) ? running->in : running->out;
    };
    const lab::Words& from = *holder(in);
    lab::Words& to = *holder(out);
    const auto read = from.index(in, n * sizeof(float)), written = to.index(out, n * sizeof(float));
    if (n == 0 || n > from.size() || !read || !written) {
      fail("transform() of words that are not all among the n of `in` or of `out`");
    }
    const auto blocks = static_cast<unsigned>((n + transform_threads - 1) / transform_threads);
    gpubench::launch(transform_kernel, blocks, transform_threads, 0, stream, in, out, n);
    running->transformed += n;
    const std::size_t all = from.size();
    to.take(*written, from, *read, n, [all](std::size_t, std::size_t last) {
      return last < all ? lab::Words::Ahead(all) : lab::Words::Ahead();
    });
  });
}
