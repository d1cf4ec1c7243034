// CUB's and Thrust's sums as operations: priced by bytes and launches, computed where they are
// small.
#include "harness/platform/library_sums.hpp"

#include <memory>
#include <vector>

#include "harness/cuda/stream.hpp"
#include "harness/platform/model/runtime/runtime.hpp"

namespace gpubench {
namespace {

constexpr std::size_t most_computed = std::size_t{1} << 20;
// CUB launches one kernel for what one block takes at once, and else two (dispatch_reduce.cuh of
// CCCL 3.0: InvokeSingleTile and InvokePasses; 256 threads with 16 words each).
constexpr std::size_t words_of_one_tile = 256 * 16;

}  // namespace

CubSum::CubSum(std::size_t) : temporary_(1) {}

void CubSum::queue(const float* in, std::size_t n, float* out, cudaStream_t stream) const {
  model::Runtime& runtime = *model::current_runtime();
  const DeviceSpec& device = runtime.device();
  // Every word comes from DRAM once: what L2 may still hold of it is left out.
  const double dram = static_cast<double>(n * sizeof(float)) /
                      (device["dram_bytes_per_second"] * device["dram_read_efficiency"]);
  const double launch = device["kernel_floor_seconds"] +
                        (n > words_of_one_tile ? device["launch_stream_seconds"] : 0.0);
  model::Work work{.name = "cub::DeviceReduce::Sum", .engine = model::Engine::compute};
  work.touches = std::make_shared<model::Touches>();
  model::add_touch(*work.touches, runtime.memory(), in, n * sizeof(float), model::Touch::read);
  model::add_touch(*work.touches, runtime.memory(), out, sizeof(float), model::Touch::write);
  work.carry_out = [=, &runtime] {
    const bool computed = n <= most_computed && runtime.expects_results();
    if (computed) {
      std::vector<float> words(n);
      runtime.memory().read(words.data(), in, n * sizeof(float));
      double sum = 0;
      for (const float word : words) sum += word;
      const auto rounded = static_cast<float>(sum);
      runtime.memory().write(out, &rounded, sizeof(rounded));
    }
    runtime.note_operation({"cub::DeviceReduce::Sum",
                            dram > launch ? "dram" : "launch",
                            {{"dram", dram}, {"launch", launch}},
                            dram + launch,
                            computed});
    return dram + launch;
  };
  CUDA_CHECK(runtime.call("cub::DeviceReduce::Sum",
                          [&] { return runtime.together({stream}, std::move(work)); }));
}

// Thrust 3.0 reduces with CUB, into memory that it allocates for the call, waits, and copies from
// there (reduce_n_impl in thrust/system/cuda/detail/reduce.h).
float thrust_sum(const float* in, std::size_t n, cudaStream_t stream) {
  const CubSum cub(n);
  const DeviceBuffer<float> result(1);
  cub.queue(in, n, result.data(), stream);
  CUDA_CHECK(cudaStreamSynchronize(stream));
  float sum = 0;
  CUDA_CHECK(cudaMemcpyAsync(&sum, result.data(), sizeof sum, cudaMemcpyDeviceToHost, stream));
  CUDA_CHECK(cudaStreamSynchronize(stream));
  return sum;
}

}  // namespace gpubench
