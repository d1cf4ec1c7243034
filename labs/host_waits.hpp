// What the checkers of labs about programs of the host ask.
#pragma once

#include <string_view>
#include <utility>

#include "harness/gpu/listener.hpp"

namespace lab {

// How often the host waits for the device, from here on.
class HostWaits final : public gpubench::CallListener {
 public:
  HostWaits() : before_(std::exchange(gpubench::call_listener, this)) {}
  ~HostWaits() override { gpubench::call_listener = before_; }
  HostWaits(const HostWaits&) = delete;
  HostWaits& operator=(const HostWaits&) = delete;
  void before(const gpubench::CudaCall& call) override {
    const std::string_view name = call.name;
    count_ += name.ends_with("Synchronize") || name == "cudaMemcpy";
    if (before_ != nullptr) before_->before(call);
  }
  void after(const gpubench::CudaCall& call) override {
    if (before_ != nullptr) before_->after(call);
  }
  unsigned count() const { return count_; }

 private:
  gpubench::CallListener* before_;
  unsigned count_ = 0;
};

}  // namespace lab
