// What a row that trains needs: a loop of steps, its check at a small shape, what it should take,
// and where its time goes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/bench/bench.hpp"
#include "harness/bench/training/exchange.hpp"
#include "harness/bench/training/host_products.hpp"
#include "harness/bench/training/library.hpp"
#include "harness/bench/training/setting.hpp"
#include "harness/bench/training/step.hpp"
#include "harness/cuda/graph.hpp"
#include "harness/platform/host_threads.hpp"
#include "kernels/all_reduce.cuh"

namespace training_step {

using gpubench::Bench;
using gpubench::GemmType;
using gpubench::PinnedBuffer;
using gpubench::Roofs;

// --- a loop of steps ---

template <class T>
class Loop {
 public:
  static constexpr unsigned steps = 4;
  using Number = Wide<T>;
  // What is left out of a loop, to see what the rest of it takes.
  struct Without {
    bool loader = false, exchange = false;
  };

  Loop(const Shape& shape, const Setting& setting, const gpubench::GpuRanks* ranks)
      : shape_(shape),
        setting_(setting),
        batch_(setting.switches.parts * shape.tokens()),
        step_(shape, setting.switches, Library(setting.type)),
        costs_(step_.costs()),
        tokens_(batch_),
        targets_(batch_),
        on_host_(2 * batch_),
        read_(steps) {
    const RandomToken tokens{shape.vocabulary, 2}, targets{shape.vocabulary, 3};
    gpubench::fill_random(tokens_.data(), batch_, tokens);
    gpubench::fill_random(targets_.data(), batch_, targets);
    for (std::size_t i = 0; i < batch_; ++i) {
      on_host_[i] = tokens(i);
      on_host_[batch_ + i] = targets(i);
    }
    if (setting.starved) loader_.emplace(1);
    if (setting.exchanges) exchange_.emplace(*ranks, step_.weights(), setting.way);
  }

  // How long the loader takes for the tokens of a step.
  void set_loading_seconds(double seconds) { loading_seconds_ = seconds; }

  void run(cudaStream_t s, unsigned count, Without without = {}) {
    const bool loads = setting_.starved && !without.loader;
    if (loads) loader_->start([] {}, loading_seconds_);
    for (unsigned i = 0; i < count; ++i) {
      if (loads) take_tokens(s, i + 1 < count);
      if (setting_.graph) {
        graph(What::all).launch(s);
      } else {
        queue_step(s, What::all, without);
      }
      read_loss(s, i);
    }
  }
  // The kernels of so many steps, or products alone, with nothing between them but what a graph
  // leaves: what they take by themselves.
  void run_kernels(cudaStream_t s, What what) {
    for (unsigned i = 0; i < steps; ++i) graph(what).launch(s);
  }

  std::string check_exchange() {
    return exchange_ ? exchange_->check(gpubench::Stream()) : std::string();
  }

  Step<T, Library>& step() { return step_; }
  const std::vector<Cost>& costs() const { return costs_; }
  const unsigned* tokens() const { return tokens_.data(); }
  const unsigned* targets() const { return targets_.data(); }

 private:
  void queue_step(cudaStream_t s, What what, Without without) {
    const bool sends = exchange_ && what == What::all && !without.exchange;
    step_.gradients(s, tokens(), targets(), what,
                    [&](cudaStream_t from, std::size_t begin, std::size_t end) {
                      if (sends) exchange_->send(from, begin, end);
                    });
    if (sends) exchange_->finish(s);
    step_.update();
    if (sends) exchange_->gather(s);
  }
  const gpubench::ExecutableGraph& graph(What what) {
    auto& made = graphs_[what];
    if (!made) {
      made.emplace([&](cudaStream_t s) { queue_step(s, what, {.exchange = true}); });
    }
    return *made;
  }
  void take_tokens(cudaStream_t s, bool more) {
    loader_->wait(loaded_++);
    if (more) loader_->start([] {}, loading_seconds_);
    for (const auto& [to, from] : {std::pair{tokens_.data(), on_host_.data()},
                                   {targets_.data(), on_host_.data() + batch_}}) {
      CUDA_CHECK(cudaMemcpyAsync(to, from, batch_ * sizeof(unsigned), cudaMemcpyHostToDevice, s));
    }
  }
  void read_loss(cudaStream_t s, unsigned i) {
    const Read read = setting_.read;
    if (read == Read::never || (read == Read::each_fourth_step && i % 4 != 3)) return;
    CUDA_CHECK(cudaMemcpyAsync(&read_[i], step_.loss(), sizeof(Number), cudaMemcpyDeviceToHost, s));
    copied_[i % 2].record(s);
    if (read != Read::one_step_late) {
      copied_[i % 2].synchronize();
    } else if (i > 0) {
      copied_[(i - 1) % 2].synchronize();
    }
  }

  Shape shape_;
  Setting setting_;
  std::size_t batch_;
  Step<T, Library> step_;
  std::vector<Cost> costs_;
  DeviceBuffer<unsigned> tokens_, targets_;
  PinnedBuffer<unsigned> on_host_;
  PinnedBuffer<Number> read_;
  std::optional<gpubench::HostThreads> loader_;
  double loading_seconds_ = 0;
  std::size_t loaded_ = 0;
  std::optional<Exchange<T>> exchange_;
  gpubench::Event copied_[2] = {gpubench::Event(cudaEventDisableTiming),
                                gpubench::Event(cudaEventDisableTiming)};
  std::map<What, std::optional<gpubench::ExecutableGraph>> graphs_;
};

// --- what it must compute: at a small shape, the loss and gradients of a step in fp64 ---

// So small that the model runs every block.
constexpr unsigned small_tokens = 32;
inline Shape small_shape(const Setting& setting, unsigned batch, unsigned parts) {
  return {batch, small_tokens / (batch * parts), 64, 1, 2, setting.odd_vocabulary ? 73u : 72u};
}

// The gradients of all weights, of which `share` is the mean's; clipped if `clips`.
template <class T, class Products>
std::vector<double> gradients_of(Step<T, Products>& step, const unsigned* tokens,
                                 const unsigned* targets, double share, bool clips) {
  step.costs();
  step.gradients(nullptr, tokens, targets, What::all);
  if (clips) step.clip_gradients();
  CUDA_CHECK(cudaDeviceSynchronize());
  std::vector<double> found;
  const auto append = [&](const auto& all) {
    for (const auto& one : all) found.push_back(share * static_cast<double>(one));
  };
  share < 1 ? append(step.weights().sum.download()) : append(step.weights().gradient.download());
  append(step.weights().table_gradient.download());
  return found;
}

inline double length_of(const std::vector<double>& numbers) {
  double squares = 0;
  for (const double number : numbers) squares += number * number;
  return std::sqrt(squares);
}

// "" or what is wrong. Gradients are judged as a whole: single ones may cancel out to nearly
// nothing. Those of several parts of a batch are the mean of what the whole batch has.
template <class T>
std::string check_in_small(const Setting& setting) {
  Setting plain = setting;
  plain.exchanges = plain.starved = false;
  plain.switches.shards = 1;
  const unsigned parts = plain.switches.parts;
  Loop<T> loop(small_shape(setting, 1, parts), plain, nullptr);
  const double limit = plain.switches.clip_at;
  auto got = gradients_of(loop.step(), loop.tokens(), loop.targets(), 1.0 / parts, limit > 0);
  Step<double, HostProducts<double>> exact(small_shape(setting, parts, 1), {}, {});
  auto want = gradients_of(exact, loop.tokens(), loop.targets(), 1, false);
  const double length = length_of(want);
  if (limit > 0) {
    for (double& one : want) one *= std::min(1.0, limit / length);
  }
  const double tolerance = setting.switches.fp8             ? 0.1
                           : setting.type == GemmType::bf16 ? 0.03
                           : setting.type == GemmType::tf32 ? 3e-3
                                                            : 1e-4;
  if (const double loss = static_cast<double>(loop.step().activations().loss.download()[0]),
      exact_loss = exact.activations().loss.download()[0];
      parts == 1 && !(std::abs(loss - exact_loss) <= tolerance * exact_loss)) {
    return "the loss is " + std::to_string(loss) + " instead of " + std::to_string(exact_loss);
  }
  const double all = length_of(want);
  for (std::size_t i = 0; i < want.size(); ++i) got[i] -= want[i];
  if (const double off = length_of(got) / all; !(off <= tolerance)) {
    return "the gradients are off by " + std::to_string(off) + " of their length";
  }
  return "";
}

// --- what it should take ---

// A loader that is too slow: it takes twice as long for the tokens of a step as their products.
inline double loading_seconds(const Bench& bench, const Setting& setting, double flops) {
  const std::string roof = gemm_roof(setting.type, bench.device());
  const auto peak = bench.device().find(roof + "_flops_per_second");
  if (!peak) bench.skip("no peak of " + roof + " is known for this device");
  return 2 * flops / *peak;
}

// What the exchange adds to a step: the time of what is sent once the backward pass has ended. A
// reduce-scatter or an all-gather sends half as much as an all-reduce of the same bytes.
template <class T>
double exchange_seconds(const gpubench::DeviceSpec& device, const Setting& setting,
                        const Weights<T>& weights) {
  const auto link = device.find("nvlink_bytes_per_second");
  if (!setting.exchanges || !link) return 0;
  const auto table = static_cast<double>(weights.table_gradient.bytes()),
             all = table + static_cast<double>(weights.gradient.bytes()),
             copies = static_cast<double>(weights.copy.bytes());
  const double bytes = setting.way == Way::in_buckets ? table
                       : setting.way == Way::sharded  ? (all + copies) / 2
                                                      : all;
  return bytes * all_reduce::all_reduce_factor(gpus) / *link;
}

template <class T>
gpubench::Law law_of(const Bench& bench, const Setting& setting, Loop<T>& loop, double flops) {
  const gpubench::DeviceSpec& device = bench.device();
  const auto best = device.find("gemm_efficiency"),
             best_fp8 = device.find(gpubench::gemm_efficiency(GemmType::fp8, device)),
             narrow = device.find("gemm_unaligned_efficiency"),
             launch = device.find(setting.graph ? "launch_graph_seconds" : "launch_stream_seconds"),
             latency = device.find("dram_latency_cycles"), clock = device.find("sm_clock_hz");
  // It is of cold runs, and nobody counts what L2 keeps of buffers that are the step's own.
  if (bench.hot()) return {};
  // How near small products in fp32 come to their roof, nobody has said.
  if (!best || !narrow || !launch || !latency || !clock || setting.type == GemmType::fp32)
    return {};
  // Each operation is launched, and waits for its first load.
  const double start = *launch + *latency / *clock;
  const double reads = setting.read == Read::each_step          ? 1
                       : setting.read == Read::each_fourth_step ? 0.25
                                                                : 0;
  const double idle = reads * (device["pcie_latency_seconds"] + device["sync_host_seconds"] +
                               device["launch_latency_seconds"]);
  const double loading = setting.starved ? loading_seconds(bench, setting, flops) : 0;
  const double sending = exchange_seconds(device, setting, loop.step().weights());
  return [=, costs = loop.costs(), roof = gemm_roof(setting.type, device),
          fp8_roof = gemm_roof(GemmType::fp8, device), best = *best, best_fp8 = *best_fp8,
          narrow = *narrow](const Roofs& roofs) {
    const auto rate = [&](const Cost& cost) {
      const double reached = cost.in_fp8 ? best_fp8 : best;
      return roofs.at(cost.in_fp8 ? fp8_roof : roof) * reached * (cost.odd_operands ? narrow : 1);
    };
    const double step = seconds_of(costs, rate, roofs.at("dram"), start) + idle + sending;
    return flops / (loading > 0 ? std::max(step, loading) + step / Loop<T>::steps : step);
  };
}

// --- what is trained, and where its time and its memory go ---

inline void note_model(Bench& bench, const Shape& shape, const Setting& setting) {
  bench.note("layers", shape.layers);
  bench.note("vocabulary", shape.vocabulary);
  bench.note("tokens_per_step", static_cast<double>(shape.tokens()) * setting.switches.parts);
  bench.note("gpus", setting.exchanges ? gpus : 1);
}

template <class T>
void note_memory(Bench& bench, Step<T, Library>& step) {
  bench.note("weight_bytes",
             static_cast<double>(step.weights().weight_bytes() + step.in_fp8().weight_bytes()));
  bench.note("gradient_bytes", static_cast<double>(step.weights().gradient_bytes()));
  bench.note("state_bytes", static_cast<double>(step.weights().state_bytes()));
  bench.note("activation_bytes",
             static_cast<double>(step.activations().bytes() + step.in_fp8().activation_bytes()));
}

// Where the time of a step goes [s]. Each part is what the step takes longer with it than without.
template <class T>
void say_walls(Bench& bench, Loop<T>& loop, const Setting& setting) {
  constexpr double n = Loop<T>::steps;
  const auto timed = [&](typename Loop<T>::Without without) {
    return bench.time([&](cudaStream_t s) { loop.run(s, Loop<T>::steps, without); }) / n;
  };
  const auto alone = [&](What what) {
    return bench.time([&](cudaStream_t s) { loop.run_kernels(s, what); }) / n;
  };
  const double whole = bench.seconds() / n;
  const double unstarved = setting.starved ? timed({.loader = true}) : whole;
  const double silent = setting.exchanges ? timed({.exchange = true}) : unstarved;
  const double products = alone(What::products), kernels = alone(What::all);
  const std::string roof = gemm_roof(setting.type, bench.device());
  // Each with the label of what binds a step that it takes most of.
  struct Part {
    const char* name;
    double seconds;
    std::string label, roof;
  };
  const Part parts[] = {
      {"compute_seconds", products, roof.starts_with("tensor") ? "tensor" : roof, roof},
      {"bandwidth_seconds", std::max(0.0, kernels - products), "dram", ""},
      {"overhead_seconds", std::max(0.0, silent - kernels), "launch", ""},
      {"communication_seconds", std::max(0.0, unstarved - silent), "link", ""},
      {"starved_seconds", std::max(0.0, whole - unstarved), "host", ""},
  };
  bench.counter("step_seconds", whole);
  for (const Part& part : parts) bench.counter(part.name, part.seconds);
  const Part& longest = *std::ranges::max_element(parts, {}, &Part::seconds);
  bench.bound(longest.label, longest.roof);
  bench.counter("gpu_idle_fraction", std::max(0.0, 1 - kernels / whole));
}

}  // namespace training_step
