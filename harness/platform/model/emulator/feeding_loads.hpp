// How often a warp waits for loads that multiply-adds use at once.
#pragma once

#include <algorithm>

namespace gpubench::model {

// A loop that loads what its multiply-adds need is unrolled by the compiler, but a few times only,
// and each round waits for the loads of the one before. (Fitted: docs/model-accuracy.md.)
inline constexpr double feeding_loads_at_once = 3;

// Runs of loads that multiply-adds end. Loads of one run are in flight together however many they
// are, and those of runs that follow each other as far as the compiler brings them together.
class FeedingLoads {
 public:
  void load() { ++of_run_; }
  void use() {
    if (of_run_ == 0) return;
    ++runs_;
    loads_ += of_run_;
    of_run_ = 0;
  }
  // Latencies, one after the other.
  double waits() const { return std::min(runs_, loads_ / feeding_loads_at_once); }

 private:
  double of_run_ = 0, runs_ = 0, loads_ = 0;
};

}  // namespace gpubench::model
