// Kernels of known durations, for tests of everything around kernels.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "harness/platform/model/launch/executor.hpp"

namespace gpubench::model {

template <class... P>
const void* address(void (*kernel)(P...)) {
  return reinterpret_cast<const void*>(kernel);
}

// Runs a kernel's body once, as a grid of a single thread, and answers with what it was told. The
// memory that such a body writes must have been written before: pages appear on copies only.
class FakeExecutor : public KernelExecutor {
 public:
  std::map<const void*, double> seconds;      // by kernel; 10 us for any other
  std::map<const void*, double> utilisation;  // by kernel; 0 for any other
  std::map<const void*, std::string> faults;  // kernels that fail, and what with
  // Added to a launch's time, by the number of launches carried out before it.
  std::function<double(std::size_t)> extra_seconds = [](std::size_t) { return 0.0; };
  std::size_t executed = 0;

  KernelOutcome execute(const KernelLaunch& launch) override {
    const double extra = extra_seconds(executed++);
    if (const auto fault = faults.find(launch.function); fault != faults.end()) {
      return {0, fault->second};
    }
    launch.invoke(launch.arguments.get());
    const auto known = seconds.find(launch.function);
    const auto busy = utilisation.find(launch.function);
    return {extra + (known == seconds.end() ? 10e-6 : known->second), "",
            busy == utilisation.end() ? 0.0 : busy->second};
  }
};

}  // namespace gpubench::model
