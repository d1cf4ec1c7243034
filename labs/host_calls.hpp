// What the checkers of labs about programs of the host ask.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/cuda/listener.hpp"

namespace lab {

// Words at one end of a copy.
struct Words {
  const float* first;
  std::size_t count;
  bool hold(const void* at) const { return at >= first && at < first + count; }
};

// How often the host waits for the device, and what it has copied between its memory and the
// device's, from here on.
class HostCalls final : public gpubench::CallListener {
 public:
  HostCalls(std::initializer_list<Words> of_host, std::initializer_list<Words> of_device)
      : of_host_(of_host),
        of_device_(of_device),
        before_(std::exchange(gpubench::call_listener, this)) {}
  ~HostCalls() override { gpubench::call_listener = before_; }
  HostCalls(const HostCalls&) = delete;
  HostCalls& operator=(const HostCalls&) = delete;
  void before(const gpubench::CudaCall& call) override {
    const std::string_view name = call.name;
    waits_ += name.ends_with("Synchronize") || name == "cudaMemcpy";
    if (name.starts_with("cudaMemcpy") && crosses(call)) copied_bytes_ += call.bytes;
    if (before_ != nullptr) before_->before(call);
  }
  void after(const gpubench::CudaCall& call) override {
    if (before_ != nullptr) before_->after(call);
  }
  unsigned waits() const { return waits_; }
  std::size_t copied_bytes() const { return copied_bytes_; }

 private:
  bool crosses(const gpubench::CudaCall& call) const {
    const auto holds = [](const std::vector<Words>& memory, const void* at) {
      return std::ranges::any_of(memory, [=](const Words& words) { return words.hold(at); });
    };
    return (holds(of_host_, call.from) && holds(of_device_, call.to)) ||
           (holds(of_device_, call.from) && holds(of_host_, call.to));
  }

  std::vector<Words> of_host_, of_device_;
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
