// The GPUs that work together on one row: a rank each, on this process' devices and on those of the
// other processes of the run.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <vector>

#include "harness/cuda/check.hpp"
#include "harness/cuda/event.hpp"
#include "harness/cuda/stream.hpp"
#include "harness/system/process_group.hpp"

namespace gpubench {

class GpuRanks {
 public:
  // Why `count` ranks cannot be had from processes of `gpus` GPUs each; "" when they can.
  static std::string why_not(int count, int gpus);

  // `count` ranks, shared equally by the processes. Makes the device of this process' first rank
  // the current one until it goes.
  GpuRanks(int count, int gpus);
  ~GpuRanks() { static_cast<void>(cudaSetDevice(before_)); }
  GpuRanks(const GpuRanks&) = delete;
  GpuRanks& operator=(const GpuRanks&) = delete;

  int count() const { return count_; }
  int local() const { return static_cast<int>(devices_.size()); }           // of this process
  int rank(int i) const { return Processes::all().index() * local() + i; }  // of local rank i
  int device(int i) const { return devices_[static_cast<std::size_t>(i)]; }

  // Calls f(i) for each local rank, its device being the current one.
  template <class F>
  void each(const F& f) const {
    for (int i = 0; i < local(); ++i) {
      CUDA_CHECK(cudaSetDevice(device(i)));
      f(i);
    }
    CUDA_CHECK(cudaSetDevice(device(0)));
  }

  // Lets kernels of local rank i access the memory of local rank j; false where they cannot.
  bool let_access(int i, int j) const;

  // Local rank 0 works in the stream that its work is given, the others in streams of their own.
  cudaStream_t stream(int i, cudaStream_t first) const {
    return i == 0 ? first : streams_[static_cast<std::size_t>(i) - 1];
  }
  // From here on all local ranks' streams go on only when each of them has come here.
  void meet(cudaStream_t first) const;
  void fork(cudaStream_t first) const;  // the others go on when the first has come here
  void join(cudaStream_t first) const;  // the first goes on when the others have come here

 private:
  int count_;
  int before_ = 0;
  std::vector<int> devices_;
  std::vector<Stream> streams_;  // of local ranks 1, 2, ...
  std::vector<Event> came_;      // by local rank
};

}  // namespace gpubench
