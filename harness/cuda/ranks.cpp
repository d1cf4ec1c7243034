#include "harness/cuda/ranks.hpp"

#include "harness/cuda/device.hpp"

namespace gpubench {

std::string GpuRanks::why_not(int count, int gpus) {
  const int processes = Processes::all().count();
  const std::string wanted = "needs " + std::to_string(count) + " GPUs";
  if (count % processes != 0) {
    return wanted + ", which " + std::to_string(processes) + " processes cannot share equally";
  }
  // Processes on one machine share its GPUs.
  const int each = count / processes;
  if ((Processes::all().index_on_host() + 1) * each <= gpus) return {};
  return wanted + (processes == 1 ? "" : ", " + std::to_string(each) + " a process") + "; there " +
         (gpus == 1 ? "is 1" : "are " + std::to_string(gpus)) +
         (processes == 1 ? "" : " on this machine");
}

GpuRanks::GpuRanks(int count, int gpus) : count_(count) {
  CUDA_CHECK(cudaGetDevice(&before_));
  const int each = count / Processes::all().count();
  const int first =
      Processes::all().count() == 1 ? before_ : Processes::all().index_on_host() * each;
  for (int i = 0; i < each; ++i) devices_.push_back((first + i) % gpus);
  this->each([&](int i) {
    if (i > 0) streams_.emplace_back();
    came_.emplace_back(cudaEventDisableTiming);
  });
}

bool GpuRanks::let_access(int i, int j) const { return gpubench::let_access(device(i), device(j)); }

void GpuRanks::fork(cudaStream_t first) const {
  came_[0].record(first);
  for (const Stream& stream : streams_) came_[0].hold(stream);
}

void GpuRanks::join(cudaStream_t first) const {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    came_[i + 1].record(streams_[i]);
    came_[i + 1].hold(first);
  }
}

void GpuRanks::meet(cudaStream_t first) const {
  join(first);
  fork(first);
}

}  // namespace gpubench
