// Checks lab 13: right losses, weights and moments at every length, all of the work in every run,
// and how fast.
#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "harness/bench/bench.hpp"
#include "harness/cuda/event.hpp"
#include "harness/cuda/graph.hpp"
#include "harness/cuda/lanes.hpp"
#include "harness/platform/host_threads.hpp"
#include "labs/13-which-wall/given.cuh"
#include "labs/13-which-wall/interface.cuh"
#include "labs/13-which-wall/models.cuh"
#include "labs/host_calls.hpp"

namespace {

using namespace which_wall;
using gpubench::Bench;
using gpubench::Event;
using gpubench::HostBuffer;

constexpr unsigned workers = 4;  // of the loader
constexpr double loading_seconds = 120e-6;

// --- a row, while a solution runs ---

class Row {
 public:
  Row() { running = this; }
  ~Row() { running = nullptr; }
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;

  static inline Row* running = nullptr;  // that the functions of given.cuh are about

  float *weights = nullptr, *gradient = nullptr;  // of the small model
  Generator<float> initial;
  Target target;  // of the large one
  Wide wide{};
  const float* product_in = nullptr;
  float* product_out = nullptr;
  unsigned batches = 0;                 // that the loader can make
  std::array<lab::Words*, 2> losses{};  // on the host and on the device, of step A

  // `solve(stream)`, in the stream that is the same in every run.
  template <class Solve>
  void run(cudaStream_t s, const Solve& solve) {
    learned_ = learned_wide_ = updated_ = asked_ = taken_ = 0;
    is_updated_.fill(false);
    lanes_.fork(s);
    solve(lanes_[0]);
    thrown_.rethrow();
    lanes_.join(s);
  }
  // How much of each kind a run has to have queued.
  struct Amount {
    std::size_t learned = 0, learned_wide = 0, batches = 0, tensors = 0, losses = 0;
  };
  void expect(const Amount& least, std::size_t losses_in_place = 0) {
    runs_.expect("calls of learn()", learned_, least.learned);
    runs_.expect("calls of learn_wide()", learned_wide_, least.learned_wide);
    runs_.expect("calls of learn_from()", taken_, least.batches);
    runs_.expect("updates of a tensor", updated_, least.tensors);
    runs_.expect("losses came to their places", losses_in_place, least.losses);
    runs_.end_run();
  }

  template <class F>
  void call(cudaStream_t s, const F& f) {
    thrown_.call([&] {
      if (s != lanes_[0]) fail("something is queued in a stream that is not the step's");
      f();
    });
  }

  void learn(unsigned step, float* loss, cudaStream_t s) {
    expect_next("learn()", step, learned_++);
    pass(step == 0, nullptr, loss, s);
    for (lab::Words* const words : losses) {
      if (words == nullptr) continue;
      if (const auto word = words->index(loss, sizeof *loss)) words->set(*word, step);
    }
  }
  void update(unsigned first, unsigned count, cudaStream_t s) {
    if (first >= tensors) fail("update() of tensor ", first, ", of ", tensors);
    for (unsigned tensor = first; tensor < std::min(first + count, tensors); ++tensor) {
      updated_ += !std::exchange(is_updated_[tensor], true);  // once after each pass
    }
    const std::size_t word = std::size_t{first} * tensor_words;
    launch(small_update, count, tensor_words, 0, s, weights + word, gradient + word);
  }

  void learn_wide(unsigned step, cudaStream_t s) {
    expect_next("learn_wide()", step, learned_wide_++);
    launch(wide_product, 1, tensor_words, 0, s, product_in, product_out);
    launch(wide_gradient, blocks(wide.n / 4, elementwise_threads), elementwise_threads, 0, s, wide,
           initial, target.of_step(step), step == 0);
  }
  void run_operation(Operation operation, cudaStream_t s) {
    float* const none = nullptr;
    const auto [to, a, b] = [&]() -> std::array<float*, 3> {
      switch (operation) {
        case Operation::decay:
          return {wide.weight, wide.weight, none};
        case Operation::average:
          return {wide.exp_avg, wide.exp_avg, wide.gradient};
        case Operation::square:
          return {wide.scratch, wide.gradient, none};
        case Operation::average_squares:
          return {wide.exp_avg_sq, wide.exp_avg_sq, wide.scratch};
        case Operation::root:
          return {wide.scratch, wide.exp_avg_sq, none};
        case Operation::ratio:
          return {wide.scratch, wide.exp_avg, wide.scratch};
      }
      fail("run_operation() of an unknown operation");
    }();
    const unsigned packs = wide.n / 4;
    launch(elementwise, blocks(packs, elementwise_threads), elementwise_threads, 0, s, operation,
           reinterpret_cast<float4*>(to), reinterpret_cast<const float4*>(a),
           reinterpret_cast<const float4*>(b), packs);
  }
  void run_finish(cudaStream_t s) {
    launch(lab::finish, blocks(wide.n, lab::finish_elements), lab::finish_threads, 0, s,
           wide.weight, wide.gradient, wide.exp_avg, wide.exp_avg_sq, wide.scratch, wide.n);
  }

  void ask(unsigned batch) {
    thrown_.call([&] {
      expect_next("ask()", batch, asked_);
      if (batch >= batches) fail("ask() for batch ", batch, ", of ", batches);
      if (asked_ - taken_ == most_asked) fail("ask() for more than ", most_asked, " batches ahead");
      Slot& slot = slots_[asked_++ % most_asked];
      slot.copied.synchronize();  // what it held may still be on its way
      slot.job = loader_.start(
          [to = slot.samples.data(), batch] {
            for (unsigned i = 0; i < words; ++i) to[i] = Batch{batch}(i);
          },
          loading_seconds);
    });
  }
  void learn_from(unsigned batch, cudaStream_t s) {
    if (batch >= asked_) fail("learn_from() of batch ", batch, ", which nobody has asked for");
    expect_next("learn_from()", batch, taken_++);
    Slot& slot = slots_[batch % most_asked];
    loader_.wait(slot.job);
    CUDA_CHECK(cudaMemcpyAsync(batch_.data(), slot.samples.data(), words * sizeof(float),
                               cudaMemcpyHostToDevice, s));
    slot.copied.record(s);
    pass(batch == 0, batch_.data(), nullptr, s);
  }

 private:
  struct Slot {
    HostBuffer<float> samples{words, true};
    Event copied{cudaEventDisableTiming};
    std::size_t job = 0;
  };

  template <class... Parts>
  [[noreturn]] static void fail(const Parts&... parts) {
    const auto text = [](const auto& part) {
      if constexpr (std::is_arithmetic_v<std::decay_t<decltype(part)>>) {
        return std::to_string(part);
      } else {
        return std::string(part);
      }
    };
    throw std::runtime_error((text(parts) + ...));
  }
  static void expect_next(const char* call, unsigned number, std::size_t next) {
    if (number != next) fail(call, " of number ", number, " where ", next, " comes next");
  }
  static unsigned blocks(unsigned n, unsigned a_block) { return (n + a_block - 1) / a_block; }

  void pass(bool first, const float* batch, float* loss, cudaStream_t s) {
    is_updated_.fill(false);
    launch(small_pass, tensors, tensor_words, 0, s, weights, gradient, initial, first, batch, loss);
  }

  gpubench::Lanes lanes_{1};
  lab::ThrownLater thrown_;
  lab::WholeRuns runs_;
  std::size_t learned_ = 0, learned_wide_ = 0, updated_ = 0, asked_ = 0, taken_ = 0;
  std::array<bool, tensors> is_updated_{};  // since the last pass
  std::array<Slot, most_asked> slots_;
  gpubench::DeviceBuffer<float> batch_{words};
  gpubench::HostThreads loader_{workers};
};

template <class Body>
void run_row(Bench& bench, unsigned steps, const Body& body) {
  bench.work({.items = 1.0 * steps});
  if (bench.axis("step") != "b") bench.blocks_host();
  bench.run(body);
}

void check_small(Bench& bench, unsigned steps) {
  const bool has_batches = bench.axis("step") == "c";
  Row row;
  const auto weights = bench.output<float>(words), gradient = bench.output<float>(words),
             on_device = bench.output<float>(steps);
  row.initial = bench.input<float>(1).values();
  row.batches = has_batches ? steps : 0;
  // A run cannot know from these whether it is the one that is checked.
  bench.poison_host_before_runs();
  HostBuffer<float> losses(steps, true);
  bench.verify(weights, SmallWeight{row.initial, steps, has_batches}, {.absolute = 1e-5});
  if (!has_batches) {
    bench.verify_host(losses.span(), SmallLoss{row.initial}, {.absolute = 1e-5}, true);
  }
  run_row(bench, steps, [&](cudaStream_t s) {
    row.weights = weights.data();
    row.gradient = gradient.data();
    lab::Words of_host(losses.data(), steps), of_device(on_device.data(), steps);
    row.losses = {&of_host, &of_device};
    const lab::HostCalls calls({&of_host}, {&of_device});
    row.run(s, [&](cudaStream_t stream) {
      has_batches ? lab::step_c(steps, stream)
                  : lab::step_a(on_device.data(), losses.data(), steps, stream);
    });
    calls.expect_none_refused();
    const std::size_t n = steps;
    row.expect(has_batches ? Row::Amount{.batches = n, .tensors = n * tensors}
                           : Row::Amount{.learned = n, .tensors = n * tensors, .losses = n},
               of_host.in_place());
  });
}

template <class Body>
void capture(std::optional<gpubench::ExecutableGraph>& graph, const Body& body) {
  try {
    graph.emplace(body);
  } catch (const gpubench::CudaError& error) {
    if (!error.is_capture_failure()) throw;
    throw std::runtime_error("step_b does what no CUDA graph can hold, such as a wait of the host");
  }
}

void check_wide(Bench& bench, unsigned steps, unsigned n) {
  Row row;
  const auto weight = bench.output<float>(n), exp_avg = bench.output<float>(n),
             exp_avg_sq = bench.output<float>(n), gradient = bench.output<float>(n),
             scratch = bench.output<float>(n), product = bench.output<float>(tensor_words);
  const auto in = bench.input<float>(tensor_words), other = bench.input<float>(1);
  row.initial = in.values();
  row.target = {other.values()};
  const auto state = [&](State which) { return WideState{row.initial, row.target, steps, which}; };
  const gpubench::Tolerance near{.relative = 1e-5, .absolute = 1e-6};
  bench.verify(weight, state(State::weight), near);
  bench.verify(exp_avg, state(State::exp_avg), near);
  bench.verify(exp_avg_sq, state(State::exp_avg_sq), near);
  // One for each set of buffers. In a graph, single launches are no wall of B's.
  std::map<const float*, std::optional<gpubench::ExecutableGraph>> graphs;
  run_row(bench, steps, [&](cudaStream_t s) {
    auto& graph = graphs[weight.data()];
    if (!graph) {
      row.wide = {weight.data(),     gradient.data(), exp_avg.data(),
                  exp_avg_sq.data(), scratch.data(),  n};
      row.product_in = in.data();
      row.product_out = product.data();
      capture(graph, [&](cudaStream_t captured) {
        row.run(captured, [&](cudaStream_t stream) { lab::step_b(steps, stream); });
        row.expect({.learned_wide = steps});
      });
    }
    graph->launch(s);
  });
  // Alone, and with cold caches, the longest kernel would be bound by DRAM.
  const auto l2_bytes = bench.device().find("l2_bytes");
  if (l2_bytes && 5.0 * n * sizeof(float) < *l2_bytes) bench.bound("l2");
}

// B's `n` counts elements, the others' steps.
void check(Bench& bench, unsigned n, bool timed = false) {
  if (bench.axis("step") == "b") return check_wide(bench, timed ? 2 : 3, n);
  check_small(bench, n);
}

void correct(Bench& bench) { check(bench, bench.arg<unsigned>("n")); }
GPU_BENCHMARK(lab, correct)->Axis("step", {"a", "c"})->ArgName("n")->Arg(1)->Arg(11);
GPU_BENCHMARK(lab, correct)->Axis("step", {"b"})->ArgName("n")->Arg(4)->Arg(1020)->Arg(4100);

// What nobody knows beforehand: it comes from the seed.
void fresh(Bench& bench) {
  const auto size = bench.input<unsigned>(2).values();
  check(bench, bench.axis("step") == "b" ? 4 * (700 + size(0) % 2000) : 3 + size(1) % 12);
}
GPU_BENCHMARK(lab, fresh)->Axis("step", {"a", "b", "c"});

void timed(Bench& bench) {
  const std::string& step = bench.axis("step");
  check(bench, step == "a" ? 16 : step == "b" ? 1u << 21 : 6, true);
}
GPU_BENCHMARK(lab, timed)->Axis("step", {"a", "b", "c"});

}  // namespace

void learn(unsigned step, float* loss, cudaStream_t stream) {
  Row::running->call(stream, [&] { Row::running->learn(step, loss, stream); });
}
void update(unsigned tensor, cudaStream_t stream) {
  Row::running->call(stream, [&] { Row::running->update(tensor, 1, stream); });
}
void update_all(cudaStream_t stream) {
  Row::running->call(stream, [&] { Row::running->update(0, tensors, stream); });
}
void ask(unsigned batch) { Row::running->ask(batch); }
void learn_from(unsigned batch, cudaStream_t stream) {
  Row::running->call(stream, [&] { Row::running->learn_from(batch, stream); });
}
void learn_wide(unsigned step, cudaStream_t stream) {
  Row::running->call(stream, [&] { Row::running->learn_wide(step, stream); });
}
void run_operation(Operation operation, cudaStream_t stream) {
  Row::running->call(stream, [&] { Row::running->run_operation(operation, stream); });
}
void run_finish(cudaStream_t stream) {
  Row::running->call(stream, [&] { Row::running->run_finish(stream); });
}
