// stream_overlap: can copies hide behind compute?
//
// Expected  From pinned memory and on enough streams, C chunks take (sum of stages) / C + (C - 1) x
//           (longest stage) / C + an overhead per chunk. At best, that is the longest stage alone
//           (overlap_efficiency 1). If chunks are too small, their overhead costs more than they
//           save. Nothing overlaps on one stream, from pageable memory (which blocks the host), or
//           with a launch into the legacy default stream between the chunks. Copies in both
//           directions at once reach twice the bandwidth of one. A prioritised kernel waits only
//           for the kernel that is running, not for all kernels in the queue.
//           Kernels that each fill an eighth of the GPU take turns on one stream, and run side by
//           side on eight.
// Units     chunks [of 8 MiB in all, each way]. Bytes count both ways. The kernel is made to take a
//           quarter as long as one copy, in `compute` `copies` times as long.
//           overlap_efficiency is the time of the longest stage alone, divided by the time of the
//           row.
// Confirm   nsys profile --trace=cuda (copies and kernels on the timeline)
#include <algorithm>
#include <memory>
#include <vector>

#include "harness/bench/bench.hpp"
#include "harness/cuda/event.hpp"
#include "harness/cuda/lanes.hpp"
#include "harness/cuda/stream.hpp"
#include "harness/statistics/statistics.hpp"
#include "kernels/stream_overlap.cuh"

namespace {

using namespace stream_overlap;
using gpubench::Event;
using gpubench::HostBuffer;
using gpubench::Lanes;
using gpubench::Output;

gpubench::Work moves(double amount, double seconds, bool show_trace) {
  return {.useful_bytes = amount,
          .moved_bytes = amount,
          .moved_through = "link",
          .law = [=](const gpubench::Roofs&) { return amount / seconds; },
          .law_tolerance = 0.05,
          .bound = "link",
          .show_trace = show_trace};
}

void copy(word* to, const word* from, std::size_t n, cudaMemcpyKind kind, cudaStream_t s) {
  CUDA_CHECK(cudaMemcpyAsync(to, from, n * sizeof(word), kind, s));
}

// From the host's memory through a kernel, which takes as long as so many copies, and back.
class Pipeline {
 public:
  Pipeline(Bench& bench, bool pinned, double copies = 0.25)
      : chunks_(bench.arg<unsigned>("chunks")),
        link_(link_of(bench.device(), pinned)),
        from_(words, pinned),
        to_(words, pinned),
        in_(bench.output<word>(words)),
        out_(bench.output<word>(words)) {
    const auto pace = paced_work::pace_of(bench.device());
    const double blocks = words / paced_work::threads;
    rounds_ = pace.rounds(copies * link_of(bench.device(), true).to_device(bytes), blocks);
    stages_ = {link_.to_device(bytes / chunks_), pace.seconds(blocks / chunks_, rounds_),
               link_.to_host(bytes / chunks_), link_.one_engine, pace.lead_seconds};
    const gpubench::Generator<word> values{42};
    for (std::size_t i = 0; i < words; ++i) from_.data()[i] = values(i);
    bench.verify(out_, paced_work::Expected<gpubench::Generator<word>>{values, rounds_});
    bench.verify_copy(to_.span(), out_);
  }

  // All chunks, each on the next lane; `after_each` follows.
  template <class AfterEach>
  void run(cudaStream_t s, const Lanes& lanes, const AfterEach& after_each) {
    const std::size_t n = words / chunks_;
    lanes.fork(s);
    for (unsigned c = 0; c < chunks_; ++c) {
      const cudaStream_t lane = lanes[c % lanes.size()];
      to_device(lane, c * n, n);
      compute(lane, c * n, n);
      to_host(lane, c * n, n);
      after_each(c);
    }
    lanes.join(s);
  }

  // After the row has run: each stage alone, and how near the row came to the longest.
  void compare_with_stages(Bench& bench) {
    const double there = bench.time([&](cudaStream_t s) { to_device(s, 0, words); });
    const double kernel = bench.time([&](cudaStream_t s) { compute(s, 0, words); });
    const double back = bench.time([&](cudaStream_t s) { to_host(s, 0, words); });
    bench.counter("to_device_seconds", there);
    bench.counter("kernel_seconds", kernel);
    bench.counter("to_host_seconds", back);
    bench.counter("overlap_efficiency", std::max({there, kernel, back}) / bench.seconds());
  }

  const Stages& stages() const { return stages_; }
  const Link& link() const { return link_; }
  unsigned chunks() const { return chunks_; }

 private:
  void to_device(cudaStream_t s, std::size_t first, std::size_t n) {
    copy(in_.data() + first, from_.data() + first, n, cudaMemcpyHostToDevice, s);
  }
  void compute(cudaStream_t s, std::size_t first, std::size_t n) {
    launch(transform, static_cast<unsigned>(n / paced_work::threads), paced_work::threads, 0, s,
           in_.data() + first, out_.data() + first, rounds_);
  }
  void to_host(cudaStream_t s, std::size_t first, std::size_t n) {
    copy(to_.data() + first, out_.data() + first, n, cudaMemcpyDeviceToHost, s);
  }

  unsigned chunks_, rounds_;
  Link link_;
  HostBuffer<word> from_, to_;
  Output<word> in_, out_;
  Stages stages_;
};

void pipeline(Bench& bench) {
  const bool pinned = bench.axis("memory") == "pinned";
  const auto streams = bench.arg<unsigned>("streams");
  Pipeline work(bench, pinned);
  double expected = pipeline_seconds(work.stages(), work.chunks(), streams);
  if (!pinned) {  // the host waits for each copy, and has streams to fork and to join
    const Link& link = work.link();
    bench.blocks_host();
    expected = serial_seconds(work.stages(), work.chunks(), 2 * link.blocking) + link.blocking +
               3 * streams * link.call;
  }
  bench.work(moves(2 * bytes, expected, work.chunks() == 8 && streams != 2));
  const Lanes lanes(streams);
  bench.run([&](cudaStream_t s) { work.run(s, lanes, [](unsigned) {}); });
  work.compare_with_stages(bench);
}
GPU_BENCHMARK(stream_overlap, pipeline)
    ->Axis("memory", {"pinned"})
    ->ArgNames({"chunks [of the same bytes in all]", "streams"})
    ->Takes("streams", {1, 16})
    ->ArgsProduct({{1, 8, 16, 32}, {8}})
    ->ArgsProduct({{1, 8, 32}, {1}})
    ->Rest(Suite::standard)
    ->Axis("memory", {"pageable"})
    ->ArgsProduct({{1, 32}, {8}})
    ->Rest(Suite::full)
    ->ArgsProduct({{2, 4}, {8}})
    ->ArgsProduct({{2, 4, 16}, {1}})
    ->ArgsProduct({{1, 2, 4, 8, 16, 32}, {2, 4}})
    ->Rest(Suite::full)
    ->Axis("memory", {"pageable"})
    ->ArgsProduct({{2, 4, 8, 16}, {8}})
    ->ArgsProduct({{1, 2, 4, 8, 16, 32}, {4}});

// The kernel is no shorter than a copy, and in the end hides both.
void compute(Bench& bench) {
  Pipeline work(bench, true, bench.arg<double>("copies"));
  const auto streams = bench.arg<unsigned>("streams");
  gpubench::Work moved =
      moves(2 * bytes, pipeline_seconds(work.stages(), work.chunks(), streams), false);
  if (work.stages().kernel >= work.stages().to_device) moved.bound = "fp32";
  moved.law_tolerance = 0.15;  // kernels of two chunks share the GPU where one does not fill it
  bench.work(moved);
  const Lanes lanes(streams);
  bench.run([&](cudaStream_t s) { work.run(s, lanes, [](unsigned) {}); });
  work.compare_with_stages(bench);
}
GPU_BENCHMARK(stream_overlap, compute)
    ->ArgNames({"copies [kernel time / copy time]", "chunks [of the same bytes in all]", "streams"})
    ->In(Suite::full)
    ->ArgsProduct({{1, 2, 4}, {1, 8}, {8}})
    ->ArgsProduct({{1, 2, 4}, {8}, {1}});

// Eight kernels that each have blocks for an eighth of the SMs.
void concurrent(Bench& bench) {
  constexpr unsigned kernels = 8, rounds = 4096;
  const auto streams = bench.arg<unsigned>("streams");
  const auto blocks = static_cast<unsigned>(bench.device()["sm_count"]) / kernels;
  const std::size_t part = std::size_t{blocks} * paced_work::threads;
  const auto in = bench.input<word>(kernels * part);
  const auto out = bench.output<word>(in.size());
  bench.verify(out, paced_work::Expected<decltype(in.values())>{in.values(), rounds});
  const auto alone = std::make_shared<double>(0);  // timed after the whole
  bench.work({.items = kernels,
              .law = [alone, streams](const gpubench::Roofs&) { return streams / *alone; },
              .law_tolerance = 0.1});
  const auto queue = [&](cudaStream_t s, unsigned kernel) {
    launch(transform, blocks, paced_work::threads, 0, s, in.data() + kernel * part,
           out.data() + kernel * part, rounds);
  };
  const Lanes lanes(streams);
  bench.run([&](cudaStream_t s) {
    lanes.fork(s);
    for (unsigned k = 0; k < kernels; ++k) queue(lanes[k % streams], k);
    lanes.join(s);
  });
  *alone = bench.time([&](cudaStream_t s) { queue(s, 0); });
  bench.counter("kernel_seconds", *alone);
}
GPU_BENCHMARK(stream_overlap, concurrent)
    ->ArgName("streams", {1, 8})
    ->In(Suite::full)
    ->Each({1, 2, 4, 8});

// A tiny launch between the chunks, into a default stream: the legacy one waits for every blocking
// stream, and they for it; a thread's own does not.
void default_stream(Bench& bench) {
  const std::string& which = bench.axis("default");
  const bool launches = which != "none", legacy = which == "legacy";
  Pipeline work(bench, true);
  const auto progress = bench.output<unsigned>(1);
  if (launches) bench.verify(progress, ExpectedProgress{work.chunks()});
  const Lanes lanes(4, cudaStreamDefault);
  const double expected = legacy ? serial_seconds(work.stages(), work.chunks(),
                                                  std::max(bench.device()["kernel_floor_seconds"],
                                                           bench.device()["launch_stream_seconds"]))
                                 : pipeline_seconds(work.stages(), work.chunks(), 4);
  bench.blocks_host();  // so that the legacy stream is not asked to wait behind a gate
  const double fork = (2 + 4) * work.link().call;
  bench.work(moves(2 * bytes, fork + expected, launches && work.chunks() == 4));
  const cudaStream_t stream = legacy ? cudaStreamLegacy : cudaStreamPerThread;
  const Event reported(cudaEventDisableTiming);
  bench.run([&](cudaStream_t s) {
    work.run(s, lanes, [&](unsigned chunk) {
      if (launches) launch(report_progress, 1, 1, 0, stream, progress.data(), chunk);
    });
    if (!launches) return;
    reported.record(stream);
    reported.hold(s);
  });
  work.compare_with_stages(bench);
}
GPU_BENCHMARK(stream_overlap, default_stream)
    ->Axis("default", {"none", "per_thread", "legacy"})
    ->ArgName("chunks [of the same bytes in all]")
    ->Arg(4)
    ->Rest(Suite::full)
    ->Arg(16);

void both_directions(Bench& bench) {
  const bool pinned = bench.axis("memory") == "pinned";
  const bool there = bench.axis("direction") != "d2h", back = bench.axis("direction") != "h2d";
  HostBuffer<word> from(words, pinned), to(words, pinned);
  const auto source = bench.input<word>(words);
  const auto target = bench.output<word>(words);
  for (std::size_t i = 0; i < words; ++i) from.data()[i] = source.values()(i);
  if (there) bench.verify(target, source.values());
  if (back) bench.verify_copy(to.span(), source);

  const Link link = link_of(bench.device(), pinned);
  const Stages stages{there ? link.to_device(bytes) : 0, 0, back ? link.to_host(bytes) : 0,
                      link.one_engine, 0};
  const double amount = bytes * (there + back);
  const Lanes lanes(2);
  if (pinned) {
    bench.work(moves(amount, stages.longest(), false));
  } else {
    bench.blocks_host();
    bench.work(
        moves(amount, stages.sum() + (there + back + 1) * link.blocking + 6 * link.call, false));
  }
  bench.run([&](cudaStream_t s) {
    lanes.fork(s);
    if (there) copy(target.data(), from.data(), words, cudaMemcpyHostToDevice, lanes[0]);
    if (back) copy(to.data(), source.data(), words, cudaMemcpyDeviceToHost, lanes[1]);
    lanes.join(s);
  });
}
GPU_BENCHMARK(stream_overlap, both_directions)
    ->Axis("memory", {"pinned"})
    ->Axis("direction", {"h2d", "d2h", "both"})
    ->Rest(Suite::full)
    ->Axis("memory", {"pageable"});

// A short kernel that arrives while long ones are queued on four streams.
void priority(Bench& bench) {
  constexpr unsigned streams = 4, kernels = 4, rounds = 64;
  int least = 0, greatest = 0;
  CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  if (least == greatest) bench.skip("this device has no stream priorities");
  const auto pace = paced_work::pace_of(bench.device());
  const unsigned long_grid = pace.blocks(50e-6, rounds), short_grid = pace.blocks(5e-6, rounds);
  // A part for each stream of the backlog: nothing orders their kernels.
  const std::size_t part = std::size_t{long_grid} * paced_work::threads;
  const auto in = bench.input<word>(streams * part);
  const auto out = bench.output<word>(in.size());
  const auto answer = bench.output<word>(std::size_t{short_grid} * paced_work::threads);
  const paced_work::Expected<decltype(in.values())> expected{in.values(), rounds};
  bench.verify(out, expected);
  bench.verify(answer, expected);
  constexpr unsigned all = streams * kernels + 1;
  const double seconds = (all - 1) * (pace.seconds(long_grid, rounds) - pace.lead_seconds) +
                         pace.seconds(short_grid, rounds);
  bench.work({.items = all,
              .law = [=](const gpubench::Roofs&) { return all / seconds; },
              .law_tolerance = 0.06,
              .show_trace = true});

  const Lanes backlog(streams);
  const gpubench::Stream urgent(cudaStreamNonBlocking,
                                bench.axis("urgent") == "high" ? greatest : least);
  const Event arrived, answered;
  const auto compute = [&](cudaStream_t s, unsigned grid, std::size_t first, word* to) {
    launch(transform, grid, paced_work::threads, 0, s, in.data() + first, to, rounds);
  };
  const auto queue = [&](cudaStream_t s) {
    backlog.fork(s);
    for (unsigned k = 0; k + 1 < all; ++k) {
      const std::size_t first = k % streams * part;
      compute(backlog[k % streams], long_grid, first, out.data() + first);
      if (k == 0) arrived.record(backlog[0]);
    }
    arrived.hold(urgent);
    compute(urgent, short_grid, 0, answer.data());
    answered.record(urgent);
    answered.hold(s);
    backlog.join(s);
  };
  bench.run(queue);
  // The row may have run as a graph, whose events have no time: some more runs, each behind kernels
  // that give the host a head start.
  const gpubench::Stream stream;
  std::vector<double> urgent_seconds;
  for (int i = 0; i < 11; ++i) {
    for (unsigned k = 0; k < kernels; ++k) compute(stream, long_grid, 0, out.data());
    queue(stream);
    stream.synchronize();
    urgent_seconds.push_back(gpubench::seconds_between(arrived, answered));
  }
  bench.counter("urgent_seconds", gpubench::summarize(urgent_seconds).median);
}
GPU_BENCHMARK(stream_overlap, priority)->Axis("urgent", {"equal", "high"});

}  // namespace
