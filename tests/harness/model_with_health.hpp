// The model device with evidence that a test plants.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/bench/bench.hpp"

namespace gpubench {

// health() is what the test says it is.
class ModelWithHealth : public Platform {
 public:
  DeviceKind kind() const override { return model->kind(); }
  const DeviceSpec& device() const override { return model->device(); }
  bool has_device_file() const override { return true; }
  std::string cuda_version() const override { return {}; }
  int gpus() const override { return 1; }
  bool deterministic() const override { return true; }
  double host_seconds() const override { return model->host_seconds(); }
  void rest(double seconds) override { model->rest(seconds); }
  void expect_results(Grids grids) override { model->expect_results(grids); }
  void expect_timing() override { model->expect_timing(); }
  std::vector<TracedOperation> trace(const std::function<void()>&) override { return {}; }
  Observation observe(RowAccess access) const override { return model->observe(access); }

 protected:
  std::unique_ptr<Platform> model = open_platform("h200-sxm");
};

}  // namespace gpubench
