// data_pipeline: is the GPU starved?
//
// Expected  Items per second = min(producers, link, GPU). Producers deliver min(threads, depth) /
//           work: threads beyond the prefetch depth have nothing to do. Without producers, the
//           thread that drives the GPU does their work and the GPU waits for it. From pageable
//           memory the copy is slower and blocks that thread. If the kernel decodes, the producers
//           have a quarter of the work and the link a quarter of the bytes. A starved GPU is idle
//           for the fraction 1 - kernel / (slowest stage), and the queue of finished items is
//           empty. A GPU that is always busy may still do next to nothing: a kernel of one block
//           makes the driver's utilisation 100 % at an MFU of 0.2 %.
// Units     threads [producers], depth [items that are asked for ahead of time], us [work of a
//           producer on an item]. An item has 128 Ki numbers, and a kernel takes 25 us for it.
//           gpu_idle_fraction is the time without a kernel. queue_depth counts finished items when
//           the loop takes the next one. busy_fraction is what the driver calls utilisation: the
//           time with any kernel. mfu is FLOP/s divided by the data sheet's fp32 peak.
// Confirm   nsys profile --trace=cuda,osrt (gaps between kernels, and who waits in them)
#include <algorithm>
#include <vector>

#include "harness/bench/bench.hpp"
#include "harness/cuda/event.hpp"
#include "harness/cuda/lanes.hpp"
#include "harness/platform/host_threads.hpp"
#include "kernels/data_pipeline.cuh"

namespace {

using namespace data_pipeline;
using gpubench::Event;
using gpubench::HostBuffer;
using gpubench::HostThreads;

// A loop over all items that producers make, in the form in which they cross the link.
template <class Item>
class Loop {
 public:
  explicit Loop(Bench& bench)
      : pinned_(bench.axis("memory") == "pinned"),
        depth_(std::min(bench.arg<unsigned>("depth"), items)),
        work_seconds_(1e-6 * bench.arg<double>("us") *
                      (sizeof(Item) == sizeof(byte) ? 1 - decoding_share : 1)),
        producers_(bench.arg<unsigned>("threads")),
        threads_(producers_),
        pace_(paced_work::pace_of(bench.device())),
        rounds_(pace_.rounds(kernel_seconds - pace_.floor_seconds, blocks)),
        out_(bench.output<float>(std::size_t{items} * elements)) {
    for (unsigned i = 0; i < depth_ + ahead; ++i) slots_.emplace_back(elements, pinned_);
    for (unsigned i = 0; i < ahead; ++i) {
      on_device_.emplace_back(elements);
      copied_.emplace_back(cudaEventDisableTiming);
      consumed_.emplace_back(cudaEventDisableTiming);
    }
    bench.verify(out_, Expected{rounds_});
  }

  void run(cudaStream_t s) {
    ready_ = 0;
    for (unsigned i = 0; i < depth_; ++i) ask_for(i);
    copies_.fork(s);
    for (unsigned i = 0; i < items; ++i) {
      threads_.wait(taken_++);
      ready_ += static_cast<double>(threads_.done() - taken_);
      if (i + depth_ < items) ask_for(i + depth_);
      deliver(i, s);
    }
    copies_.join(s);
  }
  void run_kernels(cudaStream_t s) {
    for (unsigned i = 0; i < items; ++i) consume_item(i, s);
  }

  Stages stages(const gpubench::DeviceSpec& device) const {
    const auto link = host_link::link_of(device, pinned_);
    const double bytes = elements * sizeof(Item);
    constexpr double calls = 6;  // of ours for each item
    return {work_seconds_, std::min(producers_, depth_),
            calls * link.call + (pinned_ ? 0 : link.to_device(bytes) + link.blocking),
            link.to_device(bytes), pace_.seconds(blocks, rounds_)};
  }
  // Finished items beside the one that is taken, on the average of the last run.
  double queue_depth() const { return ready_ / items; }

 private:
  static constexpr unsigned blocks = elements / paced_work::threads;

  HostBuffer<Item>& slot(unsigned item) { return slots_[item % slots_.size()]; }

  void ask_for(unsigned item) {
    // The item that had its place in the host's memory may still be on its way to the device.
    if (item >= slots_.size()) copied_[(item - slots_.size()) % ahead].synchronize();
    threads_.start(
        [to = slot(item).data(), first = std::size_t{item} * elements] {
          for (std::size_t i = 0; i < elements; ++i) {
            if constexpr (sizeof(Item) == sizeof(byte)) {
              to[i] = File{}(first + i);
            } else {
              to[i] = decoded(File{}(first + i));
            }
          }
        },
        work_seconds_);
  }

  void deliver(unsigned item, cudaStream_t s) {
    const unsigned place = item % ahead;
    if (item >= ahead) consumed_[place].hold(copies_[0]);
    CUDA_CHECK(cudaMemcpyAsync(on_device_[place].data(), slot(item).data(), elements * sizeof(Item),
                               cudaMemcpyHostToDevice, copies_[0]));
    copied_[place].record(copies_[0]);
    copied_[place].hold(s);
    consume_item(item, s);
    consumed_[place].record(s);
  }

  void consume_item(unsigned item, cudaStream_t s) {
    launch(consume<Item>, blocks, paced_work::threads, 0, s, on_device_[item % ahead].data(),
           out_.data() + std::size_t{item} * elements, rounds_);
  }

  bool pinned_;
  unsigned depth_;
  double work_seconds_;
  unsigned producers_;
  HostThreads threads_;
  paced_work::Pace pace_;
  unsigned rounds_;
  gpubench::Output<float> out_;
  gpubench::Lanes copies_{1};
  std::vector<HostBuffer<Item>> slots_;
  std::vector<gpubench::DeviceBuffer<Item>> on_device_;
  std::vector<Event> copied_, consumed_;
  std::size_t taken_ = 0;  // jobs, of all runs so far
  double ready_ = 0;
};

// Who is the slowest of them; "" for the kernel, of which the model knows more. A copy that blocks
// the host is the link's.
std::string slowest(const Stages& s) {
  if (s.longest() == s.kernel) return "";
  const bool waits_for_link = s.producers > 0 && s.longest() == s.drive;
  return waits_for_link || s.longest() == s.link ? "link" : "host";
}

// Nobody beside the loop, too few, and enough.
bool is_worth_a_picture(const Bench& bench) {
  const auto threads = bench.arg("threads");
  return bench.axis("decode") == "host" && bench.arg("us") == 100 && bench.arg("depth") == 8 &&
         (threads == 0 || threads == 2 || threads == 8);
}

template <class Item>
void loop_over(Bench& bench) {
  Loop<Item> loop(bench);
  const Stages stages = loop.stages(bench.device());
  const double seconds = loop_seconds(stages, items);
  bench.blocks_host();
  bench.work({.items = items,
              .law = [=](const gpubench::Roofs&) { return items / seconds; },
              .law_tolerance = 0.08,
              .bound = slowest(stages),
              .show_trace = is_worth_a_picture(bench)});
  bench.run([&](cudaStream_t s) { loop.run(s); });
  const double kernels = bench.time([&](cudaStream_t s) { loop.run_kernels(s); });
  bench.counter("gpu_idle_fraction", std::max(0.0, 1 - kernels / bench.seconds()));
  bench.counter("queue_depth", loop.queue_depth());
}

void load(Bench& bench) {
  bench.axis("decode") == "host" ? loop_over<float>(bench) : loop_over<byte>(bench);
}
GPU_BENCHMARK(data_pipeline, load)
    ->Axis("memory", {"pinned"})
    ->Axis("decode", {"host"})
    ->ArgNames({"threads [producers]", "depth [items]", "us [µs]"})
    ->Takes("threads", {0, 64})
    ->Takes("depth", {1, 64})
    ->Takes("us", {25, 10000})
    ->ArgsProduct({{0, 1, 2, 4, 8}, {8}, {100}})
    ->ArgsProduct({{8}, {1, 2, 4}, {100}})
    ->ArgsProduct({{8}, {8}, {400}})
    ->Rest(Suite::standard)
    ->Axis("memory", {"pageable"})
    ->ArgsProduct({{1, 8}, {8}, {100}})
    ->Rest(Suite::standard)
    ->Axis("decode", {"gpu"})
    ->ArgsProduct({{0, 1}, {8}, {100}})
    ->Rest(Suite::full)
    ->Axis("memory", {"pinned", "pageable"})
    ->Axis("decode", {"host", "gpu"})
    ->ArgsProduct({{0, 1, 2, 4, 8}, {1, 2, 4, 8}, {25, 100, 400}});

// --- a GPU that is busy all the time ---

void busy(Bench& bench) {
  constexpr unsigned launches = 20, rounds = 8000;
  const std::string& grid = bench.axis("grid");
  const bool waits = bench.axis("host") == "waits";
  const auto pace = paced_work::pace_of(bench.device());
  const auto whole = gpubench::residency(keep_busy, paced_work::threads, 0);
  const auto sms = bench.device()["sm_count"];
  const auto blocks = static_cast<unsigned>(grid == "block" ? 1
                                            : grid == "sms" ? sms
                                                            : sms * whole.blocks);
  const auto in = bench.input<float>(std::size_t{blocks} * paced_work::threads);
  const auto out = bench.output<float>(in.size());
  bench.verify(out, paced_work::Expected<decltype(in.values())>{in.values(), rounds});
  const double chains =
      chain_seconds(rounds, bench.device()["fp32_latency_cycles"], bench.device()["sm_clock_hz"]);
  const double kernel = std::max(pace.seconds(blocks, rounds), pace.floor_seconds + chains);
  const double flops =
      2.0 * launches * blocks * paced_work::threads * rounds * paced_work::fmas_a_round;
  const auto link = host_link::link_of(bench.device(), true);
  const double seconds = launches * (kernel + (waits ? link.blocking : 0));
  if (waits) bench.blocks_host();
  bench.work({.flops = flops, .law = gpubench::law_at(flops / seconds), .law_tolerance = 0.1});
  const auto compute = [&](cudaStream_t s) {
    launch(keep_busy, blocks, paced_work::threads, 0, s, in.data(), out.data(), rounds);
  };
  bench.run([&](cudaStream_t s) {
    for (unsigned i = 0; i < launches; ++i) {
      compute(s);
      if (waits) CUDA_CHECK(cudaStreamSynchronize(s));
    }
  });
  const double one = bench.time(compute);
  bench.counter("busy_fraction", std::min(1.0, launches * one / bench.seconds()));
  bench.counter("resident_warp_fraction",
                whole.occupancy * std::min(1.0, blocks / (sms * whole.blocks)));
  if (const auto peak = bench.device().find("fp32_flops_per_second")) {
    bench.counter("mfu", flops / bench.seconds() / *peak);
  }
}
GPU_BENCHMARK(data_pipeline, busy)
    ->Axis("grid", {"block", "full"})
    ->Axis("host", {"queues"})
    ->Rest(Suite::standard)
    ->Axis("grid", {"block"})
    ->Axis("host", {"waits"})
    ->Rest(Suite::full)
    ->Axis("grid", {"block", "sms", "full"})
    ->Axis("host", {"queues", "waits"});

}  // namespace
