// Another model device than the usual one under a test of kernels.
#pragma once

#include <string>
#include <utility>

#include "device_under_test.hpp"

namespace gpubench {

// To be the base before a test's fixture, which asks for the device's name when it begins.
class OnDevice {
 public:
  explicit OnDevice(std::string name)
      : before_(std::exchange(device_name_under_test, std::move(name))) {}
  ~OnDevice() { device_name_under_test = before_; }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  const std::string before_;
};

}  // namespace gpubench
