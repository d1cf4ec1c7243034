// What the checkers of labs about programs of the host ask.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/cuda/listener.hpp"
#include "labs/pieces.hpp"

namespace lab {

// Words that a program moves about, and what each of them holds when all is done that has been
// queued so far, one after the other: a number that the checker gives it.
class Words {
 public:
  // Word i holds number i + ahead; absent: nobody knows.
  using Ahead = std::optional<std::ptrdiff_t>;

  Words(const float* first, std::size_t count) : first_(first), held_(count, Ahead()) {}

  std::size_t size() const { return held_.size(); }
  bool hold(const void* at) const { return at >= first_ && at < first_ + size(); }
  // Which of the words is there; absent unless all of the next `bytes` are whole words of these.
  std::optional<std::size_t> index(const void* at, std::size_t bytes) const {
    if (!hold(at)) return {};
    const auto offset = static_cast<std::size_t>(static_cast<const char*>(at) -
                                                 reinterpret_cast<const char*>(first_));
    const std::size_t word = offset / sizeof(float), count = bytes / sizeof(float);
    const bool are_whole = offset % sizeof(float) + bytes % sizeof(float) == 0;
    if (!are_whole || count > size() - word) return {};
    return word;
  }
  // From here on each holds its own place's number.
  void number() { held_.set(0, size(), 0); }
  void set(std::size_t word, std::size_t number) {
    held_.set(word, word + 1,
              static_cast<std::ptrdiff_t>(number) - static_cast<std::ptrdiff_t>(word));
  }
  void forget(std::size_t first, std::size_t count) { held_.set(first, first + count, Ahead()); }
  // `count` words from `first` on become what `change(number)` makes of the numbers of those of
  // `from`; it is given the first and the last of a piece, and adds the same to all or forgets
  // them.
  template <class Change>
  void take(std::size_t first, const Words& from, std::size_t begin, std::size_t count,
            const Change& change) {
    const auto shift = static_cast<std::ptrdiff_t>(begin) - static_cast<std::ptrdiff_t>(first);
    for (const auto& piece : from.held_.between(begin, begin + count)) {
      Ahead ahead = piece.value;
      if (ahead) {
        const auto number = static_cast<std::ptrdiff_t>(piece.begin) + *ahead;
        const Ahead more = change(static_cast<std::size_t>(number),
                                  static_cast<std::size_t>(number) + piece.end - piece.begin - 1);
        ahead = more ? Ahead(*ahead + shift + *more) : Ahead();
      }
      held_.set(first + piece.begin - begin, first + piece.end - begin, ahead);
    }
  }
  // How many hold their own place's number, counted from `first` on.
  std::size_t in_place(std::size_t first = 0) const {
    return held_.count(static_cast<std::ptrdiff_t>(first));
  }

 private:
  const float* first_;
  Pieces<Ahead> held_;
};

// How often the host waits for the device, what it has copied between its memory and the device's,
// and whether CUDA has refused a call, from here on.
class HostCalls final : public gpubench::CallListener {
 public:
  HostCalls(std::initializer_list<Words*> of_host, std::initializer_list<Words*> of_device)
      : of_host_(of_host),
        of_device_(of_device),
        before_(std::exchange(gpubench::call_listener, this)) {}
  ~HostCalls() override { gpubench::call_listener = before_; }
  HostCalls(const HostCalls&) = delete;
  HostCalls& operator=(const HostCalls&) = delete;
  void before(const gpubench::CudaCall& call) override {
    const std::string_view name = call.name;
    waits_ += name.ends_with("Synchronize") || name == "cudaMemcpy";
    if (before_ != nullptr) before_->before(call);
  }
  // What CUDA has refused is not done, and counts for nothing.
  void after(const gpubench::CudaCall& call) override {
    if (before_ != nullptr) before_->after(call);
    if (call.error != cudaSuccess) {
      if (refused_.empty()) refused_ = std::string(call.name) + ": " + cudaGetErrorName(call.error);
    } else if (std::string_view(call.name).starts_with("cudaMemcpy")) {
      copy(call);
    }
  }
  void expect_none_refused() const {
    if (!refused_.empty()) throw std::runtime_error("CUDA has refused a call: " + refused_);
  }
  unsigned waits() const { return waits_; }
  std::size_t copied_bytes() const { return copied_bytes_; }

 private:
  static Words* holder(const std::vector<Words*>& memory, const void* at) {
    const auto found = std::ranges::find_if(memory, [=](Words* words) { return words->hold(at); });
    return found == memory.end() ? nullptr : *found;
  }
  void copy(const gpubench::CudaCall& call) {
    Words* const host_from = holder(of_host_, call.from);
    Words* const host_to = holder(of_host_, call.to);
    Words* const from = host_from != nullptr ? host_from : holder(of_device_, call.from);
    Words* const to = host_to != nullptr ? host_to : holder(of_device_, call.to);
    if (to == nullptr) return;
    if (from != nullptr && (host_from == nullptr) != (host_to == nullptr)) {
      copied_bytes_ += call.bytes;
    }
    const auto written = to->index(call.to, call.bytes);
    const auto read = from != nullptr ? from->index(call.from, call.bytes) : std::nullopt;
    const std::size_t count = call.bytes / sizeof(float);
    if (written && read) {
      to->take(*written, *from, *read, count, [](auto, auto) { return Words::Ahead(0); });
    } else if (written) {
      to->forget(*written, count);
    }
  }

  std::vector<Words*> of_host_, of_device_;
  std::string refused_;
  gpubench::CallListener* before_;
  unsigned waits_ = 0;
  std::size_t copied_bytes_ = 0;
};

// What a solution calls throws nothing through its frames: what lies on its stack is its own, and
// would say where the exception goes. It is thrown when the solution has returned.
class ThrownLater {
 public:
  template <class F>
  void call(const F& f) {
    if (thrown_) return;
    try {
      f();
    } catch (...) {
      thrown_ = std::current_exception();
    }
  }
  void rethrow() {
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

 private:
  std::exception_ptr thrown_;
};

// Every run has to do all of the work, the timed ones too. What the first one has left out shows in
// its results, which say more.
class WholeRuns {
 public:
  void expect(const std::string& what, std::size_t done, std::size_t least) const {
    if (is_first_ || done >= least) return;
    throw std::runtime_error("only " + std::to_string(done) + " " + what +
                             " in a later run, which needs at least " + std::to_string(least));
  }
  void end_run() { is_first_ = false; }

 private:
  bool is_first_ = true;
};

}  // namespace lab
