// Memory on several GPUs that one address reaches: what multimem instructions work on
// (multimem.hpp).
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "harness/cuda/check.hpp"
#include "harness/cuda/ranks.hpp"

namespace gpubench {

// A function of the driver's, as CUDA 12.1 has it, the first version with multicast objects.
template <class... Parameters>
class DriverFunction {
 public:
  explicit DriverFunction(const char* name) : name_(name) {
    constexpr unsigned since = 12010;
    void* found = nullptr;
    cudaDriverEntryPointQueryResult status{};
    CUDA_CHECK(cudaGetDriverEntryPointByVersion(name, &found, since, cudaEnableDefault, &status));
    if (found == nullptr) throw CudaError(cudaErrorNotSupported, name, "harness/cuda");
    function_ = reinterpret_cast<CUresult (*)(Parameters...)>(found);
  }
  // CudaError where it fails: values agree between the driver's errors and the runtime's.
  void operator()(Parameters... parameters) const {
    const CUresult result = function_(parameters...);
    if (result != CUDA_SUCCESS) {
      throw CudaError(static_cast<cudaError_t>(result), name_, "harness/cuda");
    }
  }
  // For destructors, which cannot say so.
  void try_to(Parameters... parameters) const { static_cast<void>(function_(parameters...)); }

 private:
  const char* name_;
  CUresult (*function_)(Parameters...) = nullptr;
};

// The next multiple of all of them.
std::size_t rounded_to_all(std::size_t bytes, const std::vector<std::size_t>& units);

class MulticastMemory {
 public:
  // Why these ranks, all of one process, cannot have any; "" where they can.
  static std::string why_not(const GpuRanks& ranks);
  // Likewise, from a failure to have more: the machine can lose what it needs at any time.
  static std::string why_not(const CudaError& error);

  // At least `bytes` on the GPU of each rank.
  MulticastMemory(const GpuRanks& ranks, std::size_t bytes);
  ~MulticastMemory() { give_back(); }
  MulticastMemory(const MulticastMemory&) = delete;
  MulticastMemory& operator=(const MulticastMemory&) = delete;

  std::size_t bytes() const { return bytes_; }  // on each GPU
  void* everywhere() const { return reinterpret_cast<void*>(everywhere_.address); }
  void* on(int i) const {  // of rank i alone, whose GPU may access it
    return reinterpret_cast<void*>(parts_[static_cast<std::size_t>(i)].address);
  }

 private:
  // Memory of one GPU, or the multicast object.
  struct Part {
    int ordinal = 0;  // the runtime's
    CUdevice device{};
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr address = 0;
    bool has_handle = false, is_mapped = false, is_bound = false;
  };
  struct Driver;

  std::vector<std::size_t> units(const GpuRanks& ranks,
                                 const CUmulticastObjectProp& properties) const;
  void map(Part& part, const std::vector<CUmemAccessDesc>& access) const;
  void fill(Part& part) const;
  void wait_for_all() const noexcept;
  void give_back(Part& part) const noexcept;
  void give_back() noexcept;

  std::shared_ptr<const Driver> driver_;
  std::size_t bytes_ = 0;
  Part everywhere_;
  std::vector<Part> parts_;  // by rank
};

}  // namespace gpubench
