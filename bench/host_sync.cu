// host_sync: what does `.item()` in the loop cost?
//
// Expected  Each read empties the queue: the word travels to the host, the host wakes up, and the
//           next launch travels to the device. Meanwhile the GPU is idle for about 10 us. With a
//           read every N steps, the loop therefore loses the fraction idle / (N x step + idle) of
//           its steps per second. The cost fades as 1/N, and as kernels get longer. Mapped memory
//           saves the copy, and polling saves the wake-up. A stopwatch that does not wait for the
//           device reports the rate of launches, however long the kernels take
//           (claimed_items_per_second). A loop that reads one step late loses only what the
//           event behind a step costs, if a step takes longer than the round trip (`read_late`). A
//           wait that sleeps leaves the processor to others and notices later (`wait`).
// Units     us [length of a layer; a step has three layers, a loop eight steps]; every [steps
//           between reads]. Items are steps. lost_fraction and idle_seconds_per_read compare the
//           loop with the same loop without reads.
// Confirm   nsys profile --trace=cuda (the gaps between kernels)
#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "harness/bench/bench.hpp"
#include "harness/cuda/event.hpp"
#include "harness/cuda/stream.hpp"
#include "kernels/host_sync.cuh"

namespace {

using namespace host_sync;
using gpubench::Event;
using gpubench::PinnedBuffer;

RoundTrip round_trip(const gpubench::DeviceSpec& device) {
  return {device["pcie_latency_seconds"], device["sync_host_seconds"],
          device["launch_latency_seconds"], device["launch_host_seconds"]};
}

// The loop, with `read(step)` after every `every`-th step (0: never).
class Loop {
 public:
  explicit Loop(Bench& bench)
      : pace_(paced_work::pace_of(bench.device())),
        // A kernel's lead, part of its time between events, overlaps the one before.
        blocks_(pace_.blocks(1e-6 * bench.arg<double>("us") + pace_.lead_seconds, rounds)),
        in_(bench.input<float>(std::size_t{blocks_} * paced_work::threads)),
        out_(bench.output<float>(in_.size())) {
    bench.verify(out_, paced_work::Expected<decltype(in_.values())>{in_.values(), rounds});
    bench.blocks_host();
  }

  template <class Read>
  void run(cudaStream_t s, float* loss, unsigned every, const Read& read) const {
    for (unsigned i = 0; i < steps; ++i) {
      step(s, loss, i);
      if (every != 0 && (i + 1) % every == 0) read(i / every);
    }
  }
  void step(cudaStream_t s, float* loss, unsigned number) const {
    for (unsigned l = 0; l < layers; ++l) {
      launch(layer, blocks_, paced_work::threads, 0, s, in_.data(), out_.data(),
             l + 1 == layers ? loss : nullptr, l + 1 == layers ? number : 0);
    }
  }
  void run(cudaStream_t s, float* loss) const {
    run(s, loss, 0, [](unsigned) {});
  }

  double layer_seconds() const { return pace_.seconds(blocks_, rounds); }
  double lead_seconds() const { return pace_.lead_seconds; }
  gpubench::Input<float> input() const { return in_; }

 private:
  paced_work::Pace pace_;
  unsigned blocks_;
  gpubench::Input<float> in_;
  gpubench::Output<float> out_;
};

// Compares the row with the same loop without reads, which takes `never` [s].
void compare_with_never(Bench& bench, double never, unsigned reads) {
  const double lost = 1 - never / bench.seconds();
  bench.counter("lost_fraction", lost);
  if (lost > 0.05) bench.bound("host");
  bench.counter("idle_seconds_per_read", (bench.seconds() - never) / reads);
}

void read_back(Bench& bench, unsigned every, bool show_trace) {
  const std::string& by = bench.axis("by");
  const bool mapped = by == "mapped", polls = by == "event";
  const unsigned reads = steps / every;
  const RoundTrip trip = round_trip(bench.device());
  const double idle = idle_seconds(trip, !mapped, polls);

  const Loop loop(bench);
  const PinnedBuffer<float> pinned(1);
  const auto on_device = bench.output<float>(1);
  std::vector<float> losses(reads);
  bench.verify_host(std::span(losses),
                    ExpectedLoss<decltype(loop.input().values())>{loop.input().values(), every}, {},
                    true);
  const double expected = loop_seconds(loop.layer_seconds(), loop.lead_seconds(), reads, idle);
  bench.work({.items = steps,
              .law = [=](const gpubench::Roofs&) { return steps / expected; },
              .law_tolerance = polls ? 0.08 : 0.05,  // a poll is late by none or by one
              .show_trace = show_trace});

  const Event copied(cudaEventDisableTiming);
  const auto body = [&](cudaStream_t s) {
    float* const loss = mapped ? pinned.device_data() : on_device.data();
    loop.run(s, loss, every, [&](unsigned read) {
      float* const to = by == "memcpy" ? &losses[read] : pinned.data();
      if (!mapped) CUDA_CHECK(cudaMemcpyAsync(to, loss, sizeof *to, cudaMemcpyDeviceToHost, s));
      if (polls) {
        copied.record(s);
        while (!copied.has_happened()) {
        }
      } else if (by != "memcpy") {  // which has returned with the word
        CUDA_CHECK(cudaStreamSynchronize(s));
      }
      losses[read] = *to;
    });
  };
  bench.run(body);
  const double never = bench.time(
      [&](cudaStream_t s) { loop.run(s, mapped ? pinned.device_data() : on_device.data()); });
  compare_with_never(bench, never, reads);
}

void read_every(Bench& bench) {
  const auto every = bench.arg<unsigned>("every");
  read_back(bench, every, bench.arg("us") == 20 && every == 1);
}
GPU_BENCHMARK(host_sync, read_every)
    ->Axis("by", {"memcpy", "pinned", "mapped", "event"})
    ->ArgNames({"us [µs]", "every [steps]"})
    ->Args({20, 1})
    ->Rest(Suite::standard)
    ->Axis("by", {"pinned"})
    ->ArgsProduct({{20}, {2, 4, 8}})
    ->Rest(Suite::full)
    ->ArgsProduct({{5, 20, 100, 500}, {1, 2, 4, 8}})
    ->Takes("us", {5, 1000});

void read_each_step(Bench& bench) { read_back(bench, 1, false); }
GPU_BENCHMARK(host_sync, read_each_step)
    ->Axis("by", {"pinned"})
    ->ArgName("us [µs]", {5, 1000})
    ->Each({5, 20, 100, 500})
    ->Rest(Suite::standard)
    ->Axis("by", {"memcpy", "mapped"})
    ->Arg(5)
    ->Rest(Suite::full)
    ->Axis("by", {"memcpy", "mapped", "event"})
    ->Each({5, 20, 100, 500});

// Each step's word, one step late: it travels on a stream of its own while the next step runs, and
// the host waits for it only after it has queued that step.
void read_late(Bench& bench) {
  const Loop loop(bench);
  const PinnedBuffer<float> pinned(2);
  const auto on_device = bench.output<float>(2);
  std::vector<float> losses(steps);
  bench.verify_host(std::span(losses),
                    ExpectedLoss<decltype(loop.input().values())>{loop.input().values(), 1}, {},
                    true);
  const RoundTrip trip = round_trip(bench.device());
  const double lead = loop.lead_seconds();
  const double expected = late_loop_seconds(loop.layer_seconds(), lead, trip);
  bench.work({.items = steps,
              .law = [=](const gpubench::Roofs&) { return steps / expected; },
              .law_tolerance = 0.08,
              .show_trace = bench.arg("us") == 20});
  const gpubench::Stream copies(cudaStreamNonBlocking);
  Event computed[2]{Event(cudaEventDisableTiming), Event(cudaEventDisableTiming)},
      copied[2]{Event(cudaEventDisableTiming), Event(cudaEventDisableTiming)};
  bench.run([&](cudaStream_t s) {
    for (unsigned step = 0; step < steps; ++step) {
      const unsigned slot = step % 2;
      loop.step(s, on_device.data() + slot, step);
      computed[slot].record(s);
      computed[slot].hold(copies);
      CUDA_CHECK(cudaMemcpyAsync(&pinned.data()[slot], on_device.data() + slot, sizeof(float),
                                 cudaMemcpyDeviceToHost, copies));
      copied[slot].record(copies);
      if (step == 0) continue;
      copied[1 - slot].synchronize();
      losses[step - 1] = pinned.data()[1 - slot];
    }
    copied[(steps - 1) % 2].hold(s);
    copied[(steps - 1) % 2].synchronize();
    losses[steps - 1] = pinned.data()[(steps - 1) % 2];
  });
  const double never = bench.time([&](cudaStream_t s) { loop.run(s, on_device.data()); });
  compare_with_never(bench, never, steps);
}
GPU_BENCHMARK(host_sync, read_late)
    ->ArgName("us [µs]", {5, 1000})
    ->In(Suite::full)
    ->Each({5, 20, 100, 500});

// Each step's word by a copy to pinned memory and the event behind it, for which the host spins,
// polls and yields, or sleeps.
void wait(Bench& bench) {
  const std::string& by = bench.axis("by");
  const bool polls = by == "yield", sleeps = by == "block";
  const Loop loop(bench);
  const PinnedBuffer<float> pinned(1);
  const auto on_device = bench.output<float>(1);
  std::vector<float> losses(steps);
  bench.verify_host(std::span(losses),
                    ExpectedLoss<decltype(loop.input().values())>{loop.input().values(), 1}, {},
                    true);
  RoundTrip trip = round_trip(bench.device());
  const auto wake = sleeps ? bench.device().find("sync_block_host_seconds") : trip.wake;
  Law law;
  if (wake) {
    trip.wake = *wake;
    law = gpubench::law_at(steps / loop_seconds(loop.layer_seconds(), loop.lead_seconds(), steps,
                                                idle_seconds(trip, true, polls)));
  } else if (bench.modelled()) {
    bench.skip("the device file has no sync_block_host_seconds");
  }
  bench.work({.items = steps, .law = law, .law_tolerance = polls ? 0.08 : 0.05});
  const Event copied(cudaEventDisableTiming | (sleeps ? cudaEventBlockingSync : 0));
  bench.run([&](cudaStream_t s) {
    loop.run(s, on_device.data(), 1, [&](unsigned read) {
      CUDA_CHECK(cudaMemcpyAsync(pinned.data(), on_device.data(), sizeof(float),
                                 cudaMemcpyDeviceToHost, s));
      copied.record(s);
      if (polls) {
        while (!copied.has_happened()) {
          // The model's host shares its processor with nobody; this one may be busy.
          if (!bench.modelled()) std::this_thread::yield();
        }
      } else {
        copied.synchronize();
      }
      losses[read] = pinned.data()[0];
    });
  });
  const double never = bench.time([&](cudaStream_t s) { loop.run(s, on_device.data()); });
  compare_with_never(bench, never, steps);
}
GPU_BENCHMARK(host_sync, wait)
    ->Axis("by", {"spin", "yield", "block"})
    ->ArgName("us [µs]", {5, 1000})
    ->In(Suite::full)
    ->Each({5, 20, 100, 500});

// What the loop does when nobody looks, and what a stopwatch says that does not wait for it.
void never_reading(Bench& bench) {
  const Loop loop(bench);
  const auto loss = bench.output<float>(1);
  const double expected = loop_seconds(loop.layer_seconds(), loop.lead_seconds(), 0, 0);
  bench.work({.items = steps,
              .law = [=](const gpubench::Roofs&) { return steps / expected; },
              .law_tolerance = 0.01,
              .show_trace = bench.arg("us") == 20});
  bench.run([&](cudaStream_t s) { loop.run(s, loss.data()); });

  std::vector<double> launched, finished;
  const gpubench::Stream stream;
  for (int i = 0; i < 11; ++i) {
    const double begin = bench.host_seconds();
    loop.run(stream, loss.data());
    launched.push_back(bench.host_seconds() - begin);
    stream.synchronize();
    finished.push_back(bench.host_seconds() - begin);
  }
  const auto steps_a_second = [](std::vector<double>& seconds) {
    std::nth_element(seconds.begin(), seconds.begin() + 5, seconds.end());
    return steps / seconds[5];
  };
  bench.counter("claimed_items_per_second", steps_a_second(launched));  // the lie
  bench.counter("awaited_items_per_second", steps_a_second(finished));
}
GPU_BENCHMARK(host_sync, never_reading)->ArgName("us [µs]", {5, 1000})->Each({5, 20, 100, 500});

}  // namespace
