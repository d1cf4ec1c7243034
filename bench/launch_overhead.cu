// launch_overhead: what does a launch cost?
//
// Expected  n launches in a row take (n - 1) x spacing, plus the time of an empty kernel between
//           two events. In a stream, the spacing is about 2 us, set by the host or the GPU front
//           end, whichever is slower. In a graph it is about a third of that. Programmatic
//           dependent launch, which lets the next kernel begin early, halves the graph's spacing
//           again. In a stream it brings nothing if the host is the slower part. A kernel that is
//           19 times as long as its launch loses 5 % to it. If all blocks are resident at once, a
//           barrier of the grid (`grid_sync`, about 0.7 us) replaces a second launch. The first
//           launch of a kernel loads its code, and costs as much as a hundred others.
// Units     launches [in a row], us [of arithmetic in each of 64 kernels], size [bytes of
//           arguments, besides an 8-byte pointer: 4088 fills CUDA's old limit, 32756 the limit
//           since 12.1]. Items are launches. No row uses the start gate, because the host is part
//           of the cost. event_pair_seconds and empty_kernel_seconds are measured behind other
//           work; no row of the suite can be faster than these.
// Confirm   nsys profile --trace=cuda (the gaps between kernels)
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "harness/bench/bench.hpp"
#include "harness/bench/latency.hpp"
#include "harness/cuda/event.hpp"
#include "harness/cuda/graph.hpp"
#include "harness/cuda/residency.hpp"
#include "harness/cuda/stream.hpp"
#include "harness/statistics/statistics.hpp"
#include "kernels/common/paced_work.cuh"
#include "kernels/launch_overhead.cuh"

namespace {

using namespace launch_overhead;
using gpubench::Body;
using gpubench::Event;

constexpr unsigned blocks_an_sm = 16;  // enough to keep its arithmetic busy

// `queue` as it is, or as a graph.
Body issued(By by, const Body& queue) {
  if (by == By::stream) return queue;
  const auto graph = std::make_shared<const gpubench::ExecutableGraph>(queue);
  return [graph](cudaStream_t s) { graph->launch(s); };
}

By by_of(const Bench& bench) { return bench.axis("by") == "graph" ? By::graph : By::stream; }

gpubench::Work launches_of(double launches, const gpubench::Law& law) {
  return {.items = launches, .law = law, .law_tolerance = 0.02, .bound = "launch"};
}

gpubench::Law launches_over(double launches, double seconds) {
  return [=](const gpubench::Roofs&) { return launches / seconds; };
}

// What lies between two events that wait behind other work, so that the host's pace does not show.
template <class Between>
double behind_other_work(Bench& bench, const Between& between) {
  const auto pace = paced_work::pace_of(bench.device());
  const auto blocks = blocks_an_sm * static_cast<unsigned>(pace.sms);
  const gpubench::DeviceBuffer<float> in(std::size_t{blocks} * paced_work::threads);
  const gpubench::DeviceBuffer<float> out(in.size());
  gpubench::fill_random(in.data(), in.size(), gpubench::Generator<float>{42});
  const gpubench::Stream stream;
  const Event before, after;
  std::vector<double> seconds;
  for (int i = 0; i < 21; ++i) {
    launch(busy, blocks, paced_work::threads, 0, stream, in.data(), out.data(),
           pace.rounds(50e-6, blocks));
    before.record(stream);
    between(stream);
    after.record(stream);
    stream.synchronize();
    seconds.push_back(gpubench::seconds_between(before, after));
  }
  return gpubench::median(seconds);
}

// `queue(stream, launches, count)` queues a row of empty kernels that count themselves.
template <class Queue>
void run_empty(Bench& bench, const gpubench::Law& law, const Queue& queue) {
  const auto launches = bench.arg<unsigned>("launches");
  const By by = by_of(bench);
  bench.blocks_host();
  const auto row = [&](unsigned n, unsigned* count) {
    return issued(by, [=](cudaStream_t s) { queue(s, n, count); });
  };
  bench.check([&](bool) -> std::string {
    const gpubench::DeviceBuffer<unsigned> count(1);
    count.set(0);
    const gpubench::Stream stream;
    row(launches, count.data())(stream);
    stream.synchronize();
    const unsigned counted = count.download()[0];
    return counted == launches ? ""
                               : std::to_string(counted) + " of " + std::to_string(launches) +
                                     " launches ran, one after the other";
  });
  bench.work(launches_of(launches, law));
  bench.run(row(launches, nullptr));
  if (launches == 1) return;
  const double one = bench.time(row(1, nullptr));
  bench.counter("spacing_seconds", (bench.seconds() - one) / (launches - 1));
}

void empty_row(Bench& bench) {
  const auto launches = bench.arg<double>("launches");
  const By by = by_of(bench);
  gpubench::Law law = launches_over(launches, costs_of(bench.device()).row(by, launches, 0));
  if (bench.hot() && launches == 1) law = {};  // runs follow each other, and nobody waits for one
  run_empty(bench, law, [](cudaStream_t s, unsigned n, unsigned* count) {
    for (unsigned i = 0; i < n; ++i) launch(empty, 1, threads, 0, s, count);
  });
  if (launches > 1 || by == By::graph) return;
  const double events = behind_other_work(bench, [](cudaStream_t) {});
  if (events > 0) bench.counter("event_pair_seconds", events);  // in the model it is no time at all
  bench.counter("empty_kernel_seconds", behind_other_work(bench, [](cudaStream_t s) {
                  launch(empty, 1, threads, 0, s, nullptr);
                }));
}
GPU_BENCHMARK(launch_overhead, empty_row)
    ->Axis("by", {"stream", "graph"})
    ->ArgName("launches [in a row]", {1, 4096})
    ->Each({1, 64, 4096})
    ->Rest(Suite::full)
    ->Range(2, 2048);

void programmatic_row(Bench& bench) {
  const auto [major, minor] = bench.device().compute_capability();
  if (major < 9) {
    bench.skip("programmatic dependent launch needs compute capability 9.0; this is " +
               std::to_string(major) + "." + std::to_string(minor));
  }
  const auto launches = bench.arg<double>("launches");
  gpubench::Law law;
  if (bench.device().find("launch_programmatic_seconds")) {
    law = launches_over(launches, early_costs_of(bench.device()).row(by_of(bench), launches, 0));
  }
  run_empty(bench, law, [](cudaStream_t s, unsigned n, unsigned* count) {
    for (unsigned i = 0; i < n; ++i) {
      gpubench::launch_programmatic(empty_early, 1, threads, 0, s, count);
    }
  });
}
GPU_BENCHMARK(launch_overhead, programmatic_row)
    ->Axis("by", {"stream", "graph"})
    ->ArgName("launches [in a row]", {1, 4096})
    ->Each({64, 4096})
    ->Rest(Suite::full)
    ->Range(1, 2048);

// Kernels with something to do: from which length on do their launches stop mattering?
void work_row(Bench& bench) {
  constexpr unsigned launches = 64;
  constexpr double share = 0.05;
  const auto pace = paced_work::pace_of(bench.device());
  const auto blocks = blocks_an_sm * static_cast<unsigned>(pace.sms);
  const unsigned rounds = pace.rounds(1e-6 * bench.arg<double>("us"), blocks);
  const double work = pace.seconds(blocks, rounds) - pace.floor_seconds;
  const auto in = bench.input<float>(std::size_t{blocks} * paced_work::threads);
  const auto out = bench.output<float>(in.size());
  const auto row = [&](unsigned n, unsigned of_rounds) {
    return [=](cudaStream_t s) {
      for (unsigned i = 0; i < n; ++i) {
        launch(busy, blocks, paced_work::threads, 0, s, in.data(), out.data(), of_rounds);
      }
    };
  };
  bench.verify(out, paced_work::Expected<decltype(in.values())>{in.values(), rounds});
  bench.blocks_host();
  const By by = by_of(bench);
  bench.work(launches_of(
      launches, launches_over(launches, costs_of(bench.device()).row(by, launches, work))));
  bench.run(issued(by, row(launches, rounds)));
  // Twice the work less once: what is left has no launch in it.
  const double in_kernel = bench.time(row(1, 2 * rounds)) - bench.time(row(1, rounds));
  const double overhead = bench.seconds() / launches - in_kernel;
  bench.counter("overhead_seconds", overhead);
  bench.counter("length_for_5_percent_seconds", length_for_share(overhead, share));
}
GPU_BENCHMARK(launch_overhead, work_row)
    ->Axis("by", {"stream", "graph"})
    ->ArgName("us [µs of arithmetic]", {1, 100})
    ->Each({5})
    ->Rest(Suite::full)
    ->Each({1, 2, 10, 20, 50, 100});

template <unsigned bytes>
void pass(Bench& bench) {
  constexpr unsigned launches = 64, last = bytes / sizeof(unsigned) - 1;
  const auto payload = std::make_unique<Payload<bytes>>();
  payload->words[last] = bytes + 20261;
  const auto arrived = bench.output<unsigned>(1);
  bench.verify(arrived, ExpectedPayload{payload->words[last]});
  bench.blocks_host();
  bench.work(launches_of(launches, {}));
  bench.run([&](cudaStream_t s) {
    for (unsigned i = 0; i < launches; ++i) {
      launch(with_arguments<bytes>, 1, threads, 0, s, arrived.data(), *payload);
    }
  });
}

void arguments(Bench& bench) {
  switch (bench.arg("size")) {
    case 4:
      return pass<4>(bench);
    case 64:
      return pass<64>(bench);
    case 256:
      return pass<256>(bench);
    case 1024:
      return pass<1024>(bench);
    case 4088:
      return pass<4088>(bench);
    default:
      return pass<32756>(bench);
  }
}
GPU_BENCHMARK(launch_overhead, arguments)
    ->ArgName("size [bytes]")
    ->Each({4, 32756})
    ->Rest(Suite::full)
    ->Each({64, 256, 1024, 4088});

void grid_sync(Bench& bench) {
  constexpr unsigned rounds = 256;
  const auto per_sm = bench.arg<unsigned>("blocks");
  const auto resident = gpubench::residency(meet, meeting_threads, 0).blocks;
  if (per_sm > resident) {
    bench.skip("an SM holds only " + std::to_string(resident) + " of these blocks");
  }
  const unsigned blocks = per_sm * gpubench::sm_count();
  const auto words = bench.output<unsigned>(blocks), ends = bench.output<unsigned>(blocks);
  bench.verify(words, ExpectedWord{2 * rounds});
  // What a block reads of the next one: in this grid, and in one whose blocks the model, too, runs
  // all together.
  bench.check([=](bool only_written) {
    if (!only_written) {
      const std::string wrong = gpubench::check_elements(
          ends.data(), blocks, ExpectedMeeting{2 * rounds, blocks}, 0, 0, false);
      if (!wrong.empty()) return wrong;
    }
    constexpr unsigned few = 8;
    const gpubench::DeviceBuffer<unsigned> own_words(few), own_ends(few);
    gpubench::launch_cooperative(meet, few, meeting_threads, 0, nullptr, rounds, own_words.data(),
                                 own_ends.data());
    CUDA_CHECK(cudaDeviceSynchronize());
    return gpubench::check_elements(own_ends.data(), few, ExpectedMeeting{rounds, few}, 0, 0,
                                    false);
  });
  gpubench::judge_by_latency(bench, 2 * rounds, {});
  gpubench::run_steps(bench, rounds, [&](unsigned times) -> Body {
    return [=](cudaStream_t s) {
      gpubench::launch_cooperative(meet, blocks, meeting_threads, 0, s, times, words.data(),
                                   ends.data());
    };
  });
  // The other way to have all blocks meet.
  const auto launches = [=](unsigned count) -> Body {
    return [=](cudaStream_t s) {
      for (unsigned i = 0; i < count; ++i) launch(empty, blocks, meeting_threads, 0, s, nullptr);
    };
  };
  bench.counter("second_launch_seconds", bench.time(launches(2)) - bench.time(launches(1)));
}
GPU_BENCHMARK(launch_overhead, grid_sync)
    ->ArgName("blocks [per SM]")
    ->Each({1, 4})
    ->In(Suite::full);

// Launch and wait, for the first time and once more. A kernel has one first time in a process:
// further repetitions of the row are told what it was.
void first_launch(Bench& bench) {
  if (bench.modelled())
    bench.skip("the model loads no code, so a first launch costs nothing extra");
  const auto out = bench.output<unsigned>(fresh_kernels);
  const auto wait_for = [&](auto kernel) {
    const double begin = bench.host_seconds();
    launch(kernel, 1, threads, 0, nullptr, out.data());
    CUDA_CHECK(cudaStreamSynchronize(nullptr));
    return bench.host_seconds() - begin;
  };
  struct Times {
    std::vector<double> first, again;
  };
  static const Times times = [&] {
    Times taken;
    for (const auto kernel : fresh_ones) {
      taken.first.push_back(wait_for(kernel));
      taken.again.push_back(wait_for(kernel));
    }
    return taken;
  }();
  bench.verify(out, ExpectedFresh{});
  bench.blocks_host();
  bench.work(launches_of(fresh_kernels, {}));
  bench.run([&](cudaStream_t s) {
    for (const auto kernel : fresh_ones) launch(kernel, 1, threads, 0, s, out.data());
  });
  bench.counter("first_launch_seconds", gpubench::median(times.first));
  bench.counter("first_of_all_seconds", times.first.front());
  bench.counter("later_launch_seconds", gpubench::median(times.again));
  const char* loading = std::getenv("CUDA_MODULE_LOADING");
  bench.note("module_loading", loading != nullptr ? loading : "default");
}
GPU_BENCHMARK(launch_overhead, first_launch);

}  // namespace
