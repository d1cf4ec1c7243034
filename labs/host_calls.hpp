// What the checkers of labs about programs of the host ask.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "harness/cuda/listener.hpp"

namespace lab {

// How often the host waits for the device, and what it has copied, from here on.
class HostCalls final : public gpubench::CallListener {
 public:
  HostCalls() : before_(std::exchange(gpubench::call_listener, this)) {}
  ~HostCalls() override { gpubench::call_listener = before_; }
  HostCalls(const HostCalls&) = delete;
  HostCalls& operator=(const HostCalls&) = delete;
  void before(const gpubench::CudaCall& call) override {
    const std::string_view name = call.name;
    waits_ += name.ends_with("Synchronize") || name == "cudaMemcpy";
    if (name.starts_with("cudaMemcpy")) copied_bytes_ += call.bytes;
    if (before_ != nullptr) before_->before(call);
  }
  void after(const gpubench::CudaCall& call) override {
    if (before_ != nullptr) before_->after(call);
  }
  unsigned waits() const { return waits_; }
  std::size_t copied_bytes() const { return copied_bytes_; }

 private:
  gpubench::CallListener* before_;
  unsigned waits_ = 0;
  std::size_t copied_bytes_ = 0;
};

// Of a right result: "", or that less was copied than any solution has to. What a program does to
// memory by itself nobody sees here, and a GPU would not let it.
inline std::string too_little_copied(std::size_t copied, std::size_t least) {
  if (copied >= least) return {};
  return "only " + std::to_string(copied) + " bytes were copied, of at least " +
         std::to_string(least) + ": the host cannot touch a device's memory by itself";
}

}  // namespace lab
