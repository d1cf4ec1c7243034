// Collectives of NCCL's, for all local ranks at once.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "harness/cuda/ranks.hpp"

namespace gpubench {

enum class Collective { all_reduce, reduce_scatter, all_gather, broadcast, all_to_all };
// Whether a rank brings a part for each rank, and whether it takes one of each away.
constexpr bool has_part_for_each(Collective what) {
  return what == Collective::reduce_scatter || what == Collective::all_to_all;
}
constexpr bool has_part_of_each(Collective what) {
  return what == Collective::all_gather || what == Collective::all_to_all;
}
enum class Number { fp32, fp16, bf16 };

template <class T>
inline constexpr Number number_of = Number::fp32;
template <>
inline constexpr Number number_of<__half> = Number::fp16;
template <>
inline constexpr Number number_of<__nv_bfloat16> = Number::bf16;

// A local rank's two ends, on its device.
struct Ends {
  const void* send;
  void* receive;
};

class Communicator {
 public:
  static bool is_built();  // with NCCL

  // All processes of the run make it together. CudaError, std::runtime_error.
  explicit Communicator(const GpuRanks& ranks);
  ~Communicator();

  // Queues the collective in the local ranks' streams. `count` elements as NCCL's call counts them:
  // a rank's own share, of reduce_scatter what it receives, of all_to_all what it sends to one
  // rank. The root of a broadcast is rank 0.
  void queue(Collective what, Number type, std::size_t count, const std::vector<Ends>& ends,
             const std::function<cudaStream_t(int)>& stream) const;

 private:
  struct Handles;
  const GpuRanks& ranks_;
  std::unique_ptr<Handles> handles_;
};

}  // namespace gpubench
