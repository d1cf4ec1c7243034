// Checks lab 12: exact sums on every number of GPUs and at every length, on GPUs that are never in
// step; what crosses each GPU's link; how much of it behind a backward pass; and how fast.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/bench/bench.hpp"
#include "harness/cuda/lanes.hpp"
#include "kernels/all_reduce.cuh"
#include "labs/12-all-reduce/given.cuh"
#include "labs/12-all-reduce/interface.cuh"
#include "labs/12-all-reduce/kernels.cuh"
#include "labs/host_calls.hpp"
#include "labs/pieces.hpp"

namespace {

using all_reduce::Contribution;
using all_reduce::ExpectedSum;
using gpubench::Bench;
using gpubench::DeviceBuffer;
using gpubench::Event;
using gpubench::GpuRanks;

constexpr unsigned layer_rounds = 2048, late_rounds = 512;  // of one chain
constexpr double head_start = 12e-3;                        // to queue a whole run [s]

std::string text(const auto&... parts) {
  std::ostringstream all;
  (all << ... << parts);
  return all.str();
}
[[noreturn]] void fail(const auto&... parts) { throw std::runtime_error(text(parts...)); }

// The GPUs of a row, each with n words of data, and what a solution has them do.
class Fleet {
 public:
  Fleet(const GpuRanks& ranks, std::size_t n) : ranks_(ranks), n_(n) {
    ranks.each([&](int i) {
      Own& own = own_.emplace_back(n);
      own.pace.upload(std::array{0.25f, 0.0f, 0.0f});
      gpus_.push_back(
          {own.data.data(), own.inbox.data(), own.lanes[0], own.lanes[1], own.passed, own.sent});
      for (int j = 0; j < ranks.local(); ++j) {
        if (i != j) ranks.let_access(i, j);
      }
    });
    running = this;
  }
  ~Fleet() { running = nullptr; }
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  lab::ThrownLater thrown;
  static inline Fleet* running = nullptr;  // that copy(), add() and backward() are about

  void fill() const {
    each([&](unsigned i) { gpubench::fill_random(gpus_[i].data, n_, Contribution<float>{i}); });
  }
  void poison() const {
    each([&](unsigned i) {
      gpubench::set_memory(gpus_[i].data, gpubench::poison_byte, n_ * sizeof(float));
    });
  }

  // Until the first check GPUs and operations are late, each by some other microseconds: whoever
  // does not wait where he has to comes too early.
  void get_out_of_step(const gpubench::Generator<unsigned>& by) { late_ = by; }
  bool is_out_of_step() const { return late_.has_value(); }
  void get_in_step() { late_.reset(); }
  std::string wrong() const {
    std::string found;
    each([&](unsigned i) {
      const ExpectedSum<float> sum{count(), 0};
      const std::string here = gpubench::check_elements(gpus_[i].data, n_, sum, 0, 0, false);
      if (found.empty() && !here.empty()) found = text("GPU ", i, ": ", here);
    });
    return found;
  }

  void pause(cudaStream_t s) const { pace(0, 1, s); }

  // `solve(gpus, count, n)`, between a fork from `s` and a join into it.
  template <class Solve>
  void run(cudaStream_t s, const Solve& solve) {
    for (unsigned i = 0; i < own_.size(); ++i) own_[i].begin_run(i);
    added_words_ = 0;
    links_.clear();
    crossings_.clear();
    // All of it is queued before any of it begins: the host's pace would order what streams do not.
    for (int i = 0; late_ && i < 256; ++i) {
      CUDA_CHECK(cudaMemsetAsync(busy_.data(), 0, busy_.bytes(), s));
    }
    ranks_.fork(s);
    each([&](unsigned i) {
      own_[i].lanes.fork(stream(i, s));
      for (const cudaStream_t begins : {gpus_[i].pass, gpus_[i].wire}) be_late(i, begins, 8);
    });
    solve(gpus_.data(), count(), n_);
    thrown.rethrow();
    each([&](unsigned i) { own_[i].lanes.join(stream(i, s)); });
    ranks_.join(s);
  }
  void expect_whole_passes() const {
    for (std::size_t i = 0; i < own_.size(); ++i) {
      if (own_[i].layers_done < layers) {
        fail("backward() of layer ", layers - 1 - own_[i].layers_done, " on GPU ", i,
             " was never called");
      }
    }
  }

  // How many words, of all GPUs', hold the sum of all when all is done that was queued.
  std::size_t summed_words() const {
    const auto all = static_cast<Summed>((1u << count()) - 1);
    std::size_t sum = 0;
    for (const Own& own : own_) {
      sum += own.in_data.count(all);
    }
    return sum;
  }
  void watch_crossings() { watches_crossings_ = true; }  // from here on; it takes time
  // The share of the words that had crossed in the last run when their GPU's pass was over.
  double early_share() const {
    double early = 0, all = 0;
    for (const Crossing& crossing : crossings_) {
      const auto words = static_cast<double>(crossing.words);
      all += words;
      if (seconds_between(crossing.end, own_[crossing.gpu].pass_end) > 0) early += words;
    }
    return early / all;
  }
  std::size_t added_words() const { return added_words_; }
  std::size_t sent_words() const {
    std::size_t sum = 0;
    for (const Own& own : own_) sum += own.sent_words;
    return sum;
  }
  // The most words that a GPU sends or receives, over n.
  double link_share() const {
    std::size_t most = 0;
    for (const Own& own : own_) most = std::max({most, own.sent_words, own.received_words});
    return static_cast<double>(most) / static_cast<double>(n_);
  }
  // The most GPUs that one sends to.
  std::size_t receivers() const {
    std::size_t most = 0;
    for (unsigned i = 0; i < count(); ++i) {
      most = std::max(most, static_cast<std::size_t>(std::distance(
                                links_.lower_bound({i, 0}), links_.lower_bound({i + 1, 0}))));
    }
    return most;
  }

  void copy(float* to, const float* from, std::size_t n, cudaStream_t s) {
    const unsigned gpu = whose(s, "copy()");
    const unsigned source = owner(from, n, "copy() from"), target = owner(to, n, "copy() to");
    if (n == 0) return;
    be_late(gpu, s);
    CUDA_CHECK(cudaMemcpyAsync(to, from, n * sizeof(float), cudaMemcpyDefault, s));
    sum_up(target, to, source, from, n, [](Summed, Summed theirs) { return theirs; });
    if (source == target) return;
    own_[source].sent_words += n;
    own_[target].received_words += n;
    links_.emplace(source, target);
    if (watches_crossings_) note_crossing(gpu, n, s);
  }

  void add(float* to, const float* from, std::size_t n, cudaStream_t s) {
    const unsigned gpu = whose(s, "add()");
    if (owner(to, n, "add() to") != gpu || owner(from, n, "add() from") != gpu) {
      fail("add() on GPU ", gpu, " is about the memory of another");
    }
    added_words_ += n;
    sum_up(gpu, to, gpu, from, n,
           [](Summed a, Summed b) { return static_cast<Summed>((a & b) != 0 ? unknown : a | b); });
    be_late(gpu, s);
    const auto bits = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
    if (bits % sizeof(float4) == 0 && n % 4 == 0) {
      each_element(gpu, n / 4, s, add_kernel<float4>, reinterpret_cast<float4*>(to),
                   reinterpret_cast<const float4*>(from), n / 4);
    } else {
      each_element(gpu, n, s, add_kernel<float>, to, from, n);
    }
  }

  void backward(unsigned layer, cudaStream_t s) {
    const unsigned gpu = whose(s, "backward()");
    unsigned& done = own_[gpu].layers_done;
    if (done == layers || layer != layers - 1 - done) {
      fail("backward() of layer ", layer, " on GPU ", gpu, ", where the last ", done,
           " layers are done");
    }
    ++done;
    be_late(gpu, s);
    pace(gpu, layer_rounds, s);
    const std::size_t first = n_ * layer / layers, last = n_ * (layer + 1) / layers;
    each_element(gpu, last - first, s, gradient_kernel, gpus_[gpu].data, Contribution<float>{gpu},
                 first, last);
    own_[gpu].in_data.set(first, last, only(gpu));
    if (watches_crossings_ && done == layers) own_[gpu].pass_end.record(s);
  }

 private:
  // Which GPUs' words are added up in one, a bit each; more than once: unknown, as is what nobody
  // has written.
  using Summed = std::uint16_t;
  static constexpr Summed unknown = 0xffff;
  static Summed only(unsigned gpu) { return static_cast<Summed>(1u << gpu); }

  struct Own {
    explicit Own(std::size_t n)
        : data(n), inbox(n), pace(3), in_data(n, unknown), in_inbox(n, unknown) {}
    void begin_run(unsigned gpu) {
      sent_words = received_words = 0;
      layers_done = 0;
      in_data.set(0, in_data.size(), only(gpu));
      in_inbox.set(0, in_inbox.size(), unknown);
    }
    DeviceBuffer<float> data, inbox;
    DeviceBuffer<float> pace;  // where the paced work begins, and where each stream's ends
    gpubench::Lanes lanes{2};
    Event passed{cudaEventDisableTiming}, sent{cudaEventDisableTiming}, pass_end;
    lab::Pieces<Summed> in_data, in_inbox;  // after all that was queued
    std::size_t sent_words = 0, received_words = 0;
    unsigned layers_done = 0;
  };

  struct Crossing {
    unsigned gpu;  // in whose stream
    std::size_t words;
    Event end;
  };

  unsigned count() const { return static_cast<unsigned>(gpus_.size()); }
  cudaStream_t stream(unsigned i, cudaStream_t first) const {
    return ranks_.stream(static_cast<int>(i), first);
  }
  template <class F>
  void each(const F& f) const {
    ranks_.each([&](int i) { f(static_cast<unsigned>(i)); });
  }

  unsigned whose(cudaStream_t s, const char* who) const {
    for (unsigned i = 0; i < count(); ++i) {
      if (s == gpus_[i].pass || s == gpus_[i].wire) return i;
    }
    fail(who, " in a stream that is no GPU's");
  }
  // Whose data or inbox holds the n words from `first` on.
  unsigned owner(const float* first, std::size_t n, const char* who) const {
    for (unsigned i = 0; i < count(); ++i) {
      for (const float* const buffer : {gpus_[i].data, gpus_[i].inbox}) {
        if (first < buffer || first >= buffer + n_) continue;
        const auto at = static_cast<std::size_t>(first - buffer);
        if (n <= n_ - at) return i;
        fail(who, " GPU ", i, ": ", n, " words from word ", at, " on, of ", n_);
      }
    }
    fail(who, " memory that is no GPU's data or inbox");
  }

  std::pair<lab::Pieces<Summed>*, std::size_t> summed_at(unsigned gpu, const float* word) {
    const Gpu& own = gpus_[gpu];
    if (word >= own.data && word < own.data + n_) {
      return {&own_[gpu].in_data, static_cast<std::size_t>(word - own.data)};
    }
    return {&own_[gpu].in_inbox, static_cast<std::size_t>(word - own.inbox)};
  }
  // n words become what `with` makes of them and of those from elsewhere.
  template <class With>
  void sum_up(unsigned target, const float* to, unsigned source, const float* from, std::size_t n,
              const With& with) {
    const auto [here, first] = summed_at(target, to);
    const auto [there, begin] = summed_at(source, from);
    for (const auto& theirs : there->between(begin, begin + n)) {
      const std::size_t at = first + theirs.begin - begin;
      for (const auto& mine : here->between(at, at + theirs.end - theirs.begin)) {
        here->set(mine.begin, mine.end, with(mine.value, theirs.value));
      }
    }
  }
  void note_crossing(unsigned gpu, std::size_t words, cudaStream_t s) {
    CUDA_CHECK(cudaSetDevice(ranks_.device(static_cast<int>(gpu))));
    crossings_.push_back({gpu, words, Event()});
    crossings_.back().end.record(s);
    CUDA_CHECK(cudaSetDevice(ranks_.device(0)));
  }

  template <class... P, class... A>
  void launch_on(unsigned gpu, unsigned blocks, unsigned block, cudaStream_t s,
                 void (*kernel)(P...), A... a) const {
    CUDA_CHECK(cudaSetDevice(ranks_.device(static_cast<int>(gpu))));
    gpubench::launch(kernel, blocks, block, 0, s, a...);
    CUDA_CHECK(cudaSetDevice(ranks_.device(0)));
  }
  template <class... P, class... A>
  void each_element(unsigned gpu, std::size_t n, cudaStream_t s, void (*kernel)(P...),
                    A... a) const {
    const auto blocks = static_cast<unsigned>((n + threads - 1) / threads);
    if (blocks > 0) launch_on(gpu, blocks, threads, s, kernel, a...);
  }
  void pace(unsigned gpu, unsigned rounds, cudaStream_t s) const {
    float* const pace = own_[gpu].pace.data();
    launch_on(gpu, 1, 1, s, pace_kernel, pace, pace + (s == gpus_[gpu].wire ? 1 : 2), rounds);
  }
  void be_late(unsigned gpu, cudaStream_t s, unsigned times = 1) {
    if (late_) pace(gpu, times * ((*late_)(operations_++) % late_rounds), s);
  }

  const GpuRanks& ranks_;
  std::size_t n_;
  std::vector<Own> own_;
  std::vector<Gpu> gpus_;
  std::set<std::pair<unsigned, unsigned>> links_;  // that were used, from and to
  std::optional<gpubench::Generator<unsigned>> late_;
  std::size_t operations_ = 0, added_words_ = 0;
  bool watches_crossings_ = false;
  std::vector<Crossing> crossings_;
  DeviceBuffer<char> busy_{std::size_t{256} << 20};
};

void check(Bench& bench, unsigned gpus, std::size_t n, bool timed = false) {
  const GpuRanks& ranks = bench.ranks(gpus, head_start);
  Fleet fleet(ranks, n);
  fleet.get_out_of_step(bench.input<unsigned>(1).values());
  // A word takes as many additions, and as many copies to be added up and to come back.
  const std::size_t least = (gpus - 1) * n;
  bench.check([&](bool) { return fleet.wrong(); });
  bench.work({.useful_bytes = static_cast<double>(n) * sizeof(float)});
  const bool passes = bench.axis("part") == "overlapped";
  passes ? fleet.poison() : fleet.fill();
  unsigned waits = 0;
  double link_share = 0;
  std::size_t receivers = 0;
  lab::WholeRuns runs;
  bench.run([&](cudaStream_t s) {
    if (!timed && !fleet.is_out_of_step()) return fleet.pause(s);  // the time of it says nothing
    const lab::HostCalls counted({}, {});
    fleet.run(s, passes ? lab::train_step : lab::all_reduce);
    if (passes) fleet.expect_whole_passes();
    counted.expect_none_refused();
    waits = std::max(waits, counted.waits());
    link_share = std::max(link_share, fleet.link_share());
    receivers = std::max(receivers, fleet.receivers());
    runs.expect("words were added", fleet.added_words(), least);
    runs.expect("words crossed a link", fleet.sent_words(), 2 * least);
    runs.expect("words became the sum of all GPUs'", fleet.summed_words(), gpus * n);
    runs.end_run();
    fleet.get_in_step();
  });
  bench.counter("host_waits", waits);
  bench.counter("link_share", link_share);
  bench.counter("receivers", static_cast<double>(receivers));
  if (!timed || !passes) return;
  fleet.watch_crossings();
  bench.time([&](cudaStream_t s) { fleet.run(s, lab::train_step); });
  bench.counter("early_share", fleet.early_share());
}

void correct(Bench& bench) {
  check(bench, static_cast<unsigned>(bench.arg("ranks")), static_cast<std::size_t>(bench.arg("n")));
}
GPU_BENCHMARK(lab, correct)
    ->Axis("part", {"ring", "overlapped"})
    ->ArgNames({"ranks", "n"})
    ->Args({2, 1})
    ->Args({4, 7})
    ->Args({8, 1000})
    ->Args({2, 4096})
    ->Args({4, 10007});

// What nobody knows beforehand: it comes from the seed.
void fresh(Bench& bench) {
  const auto size = bench.input<unsigned>(2).values();
  check(bench, 3 + size(0) % 6, 1000 + size(1) % 9000);
}
GPU_BENCHMARK(lab, fresh)->Axis("part", {"ring", "overlapped"});

void timed(Bench& bench) { check(bench, 4, std::size_t{1} << 20, true); }
GPU_BENCHMARK(lab, timed)->Axis("part", {"ring", "overlapped"});

}  // namespace

void copy(float* to, const float* from, std::size_t n, cudaStream_t stream) {
  Fleet::running->thrown.call([&] { Fleet::running->copy(to, from, n, stream); });
}
void add(float* to, const float* from, std::size_t n, cudaStream_t stream) {
  Fleet::running->thrown.call([&] { Fleet::running->add(to, from, n, stream); });
}
void backward(unsigned layer, cudaStream_t stream) {
  Fleet::running->thrown.call([&] { Fleet::running->backward(layer, stream); });
}
