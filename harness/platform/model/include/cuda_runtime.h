// The part of the CUDA runtime that the suite uses, answered without a GPU
// (harness/platform/model/runtime).
//
// Names, types, numeric values and semantics are CUDA 13's own, so that the same sources compile
// against NVIDIA's headers. What the suite does not use is not declared: a call that is missing
// here fails to compile instead of doing nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "harness/platform/model/include/cuda_errors.h"
#include "harness/platform/model/include/device_language.h"

#define CUDART_VERSION 13000

using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
using cudaGraph_t = struct CUgraph_st*;
using cudaGraphNode_t = struct CUgraphNode_st*;
using cudaGraphExec_t = struct CUgraphExec_st*;

// --- errors ---
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();

// --- device ---
struct cudaDeviceProp {
  char name[256];
  std::size_t totalGlobalMem;
  std::size_t sharedMemPerBlock;
  int regsPerBlock;
  int warpSize;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int major;
  int minor;
  int multiProcessorCount;
  int canMapHostMemory;
  int concurrentKernels;
  int pciBusID;
  int pciDeviceID;
  int pciDomainID;
  int asyncEngineCount;
  int unifiedAddressing;
  int l2CacheSize;
  int maxThreadsPerMultiProcessor;
  std::size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor;
  std::size_t sharedMemPerBlockOptin;
  int maxBlocksPerMultiProcessor;
  std::size_t reservedSharedMemPerBlock;
};
enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1,
  cudaDevAttrMaxBlockDimX = 2,
  cudaDevAttrMaxBlockDimY = 3,
  cudaDevAttrMaxBlockDimZ = 4,
  cudaDevAttrMaxGridDimX = 5,
  cudaDevAttrMaxGridDimY = 6,
  cudaDevAttrMaxGridDimZ = 7,
  cudaDevAttrMaxSharedMemoryPerBlock = 8,
  cudaDevAttrWarpSize = 10,
  cudaDevAttrMaxRegistersPerBlock = 12,
  cudaDevAttrClockRate = 13,  // [kHz]
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrCanMapHostMemory = 19,
  cudaDevAttrComputeMode = 20,
  cudaDevAttrConcurrentKernels = 31,
  cudaDevAttrMemoryClockRate = 36,       // [kHz]
  cudaDevAttrGlobalMemoryBusWidth = 37,  // [bits]
  cudaDevAttrL2CacheSize = 38,
  cudaDevAttrMaxThreadsPerMultiProcessor = 39,
  cudaDevAttrAsyncEngineCount = 40,
  cudaDevAttrUnifiedAddressing = 41,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrMaxRegistersPerMultiprocessor = 82,
  cudaDevAttrConcurrentManagedAccess = 89,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
  cudaDevAttrMaxBlocksPerMultiprocessor = 106,
  cudaDevAttrReservedSharedMemoryPerBlock = 111,
  cudaDevAttrClusterLaunch = 120,
};
enum cudaComputeMode {
  cudaComputeModeDefault = 0,
  cudaComputeModeProhibited = 2,
};
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
enum cudaDeviceP2PAttr {
  cudaDevP2PAttrPerformanceRank = 1,  // lower is faster
  cudaDevP2PAttrNativeAtomicSupported = 3,
};
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int device,
                                      int peer);
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device);
extern "C" cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);

// --- memory ---
#define cudaHostAllocDefault 0x00
#define cudaHostAllocPortable 0x01
#define cudaHostAllocMapped 0x02
#define cudaHostAllocWriteCombined 0x04
#define cudaHostRegisterDefault 0x00
#define cudaMemAttachGlobal 0x01
enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4,
};
enum cudaMemLocationType {
  cudaMemLocationTypeInvalid = 0,
  cudaMemLocationTypeDevice = 1,  // `id` is its ordinal
  cudaMemLocationTypeHost = 2,    // `id` is ignored
};
struct cudaMemLocation {
  cudaMemLocationType type;
  int id;
};
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
extern "C" cudaError_t cudaMalloc(void** device, std::size_t bytes);
extern "C" cudaError_t cudaFree(void* device);
cudaError_t cudaMallocHost(void** host, std::size_t bytes);
cudaError_t cudaHostAlloc(void** host, std::size_t bytes, unsigned int flags);
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned int flags);
cudaError_t cudaFreeHost(void* host);
cudaError_t cudaHostRegister(void* host, std::size_t bytes, unsigned int flags);
cudaError_t cudaHostUnregister(void* host);
cudaError_t cudaMallocManaged(void** managed, std::size_t bytes,
                              unsigned int flags = cudaMemAttachGlobal);
cudaError_t cudaMemPrefetchAsync(const void* managed, std::size_t bytes, cudaMemLocation location,
                                 unsigned int flags, cudaStream_t stream = nullptr);
extern "C" cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes,
                                  cudaMemcpyKind kind);
extern "C" cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes,
                                       cudaMemcpyKind kind, cudaStream_t stream = nullptr);
extern "C" cudaError_t cudaMemset(void* device, int byte, std::size_t bytes);
extern "C" cudaError_t cudaMemsetAsync(void* device, int byte, std::size_t bytes,
                                       cudaStream_t stream = nullptr);
template <class T>
cudaError_t cudaMalloc(T** device, std::size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(device), bytes);
}
template <class T>
cudaError_t cudaMallocHost(T** host, std::size_t bytes) {
  return cudaMallocHost(reinterpret_cast<void**>(host), bytes);
}
template <class T>
cudaError_t cudaHostAlloc(T** host, std::size_t bytes, unsigned int flags) {
  return cudaHostAlloc(reinterpret_cast<void**>(host), bytes, flags);
}
template <class T>
cudaError_t cudaMallocManaged(T** managed, std::size_t bytes,
                              unsigned int flags = cudaMemAttachGlobal) {
  return cudaMallocManaged(reinterpret_cast<void**>(managed), bytes, flags);
}
template <class T>
cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned int flags) {
  return cudaHostGetDevicePointer(reinterpret_cast<void**>(device), host, flags);
}

// --- streams and events ---
#define cudaStreamDefault 0x00
#define cudaStreamNonBlocking 0x01
#define cudaEventDefault 0x00
#define cudaEventBlockingSync 0x01
#define cudaEventDisableTiming 0x02
// The default streams, whatever the null handle means: one for all host threads, and one each.
#define cudaStreamLegacy (reinterpret_cast<cudaStream_t>(0x1))
#define cudaStreamPerThread (reinterpret_cast<cudaStream_t>(0x2))
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
extern "C" cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
extern "C" cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                           unsigned int flags = 0);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags);
extern "C" cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
extern "C" cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);
cudaError_t cudaEventDestroy(cudaEvent_t event);

// --- capture and graphs ---
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal = 0,
  cudaStreamCaptureModeThreadLocal = 1,
  cudaStreamCaptureModeRelaxed = 2,
};
enum cudaStreamCaptureStatus {
  cudaStreamCaptureStatusNone = 0,
  cudaStreamCaptureStatusActive = 1,
  cudaStreamCaptureStatusInvalidated = 2,
};
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long flags = 0);
extern "C" cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);

// --- driver entry points ---
enum cudaDriverEntryPointFlags { cudaEnableDefault = 0 };
enum cudaDriverEntryPointQueryResult {
  cudaDriverEntryPointSuccess = 0,
  cudaDriverEntryPointSymbolNotFound = 1,
  cudaDriverEntryPointVersionNotSufficent = 2,  // CUDA's spelling
};
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function,
                                             unsigned int version, unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* status = nullptr);

// --- kernels ---
struct cudaFuncAttributes {
  std::size_t sharedSizeBytes;
  std::size_t localSizeBytes;
  int maxThreadsPerBlock;
  int numRegs;
  int maxDynamicSharedSizeBytes;
};
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributeNonPortableClusterSizeAllowed = 14,
};
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function);
cudaError_t cudaFuncGetName(const char** name, const void* function);
cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                          int block_threads,
                                                          std::size_t dynamic_shared_bytes);
template <class T>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, T* function) {
  return cudaFuncGetAttributes(attributes, reinterpret_cast<const void*>(function));
}
template <class T>
cudaError_t cudaFuncSetAttribute(T* function, cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(function), attribute, value);
}
template <class T>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, T function,
                                                          int block_threads,
                                                          std::size_t dynamic_shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      blocks, reinterpret_cast<const void*>(function), block_threads, dynamic_shared_bytes);
}

enum cudaLaunchAttributeID {
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6,
};
union cudaLaunchAttributeValue {
  struct {
    unsigned int x, y, z;
  } clusterDim;
  int programmaticStreamSerializationAllowed;
  int cooperative;
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
  cudaLaunchAttribute* attrs = nullptr;
  unsigned int numAttrs = 0;
};
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                           const cudaLaunchConfig_t* config);
template <class T>
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, T* function,
                                           const cudaLaunchConfig_t* config) {
  return cudaOccupancyMaxActiveClusters(clusters, reinterpret_cast<const void*>(function), config);
}
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* blocks, const void* function,
                                                 const cudaLaunchConfig_t* config);
template <class T>
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* blocks, T* function,
                                                 const cudaLaunchConfig_t* config) {
  return cudaOccupancyMaxPotentialClusterSize(blocks, reinterpret_cast<const void*>(function),
                                              config);
}

namespace gpubench::model {

// Called between the lanes of a kernel: its own loads are not the kernel's and must not be counted.
#if defined(__clang__)
#define GPUBENCH_UNCOUNTED __attribute__((no_sanitize("thread", "coverage")))
#else
#define GPUBENCH_UNCOUNTED __attribute__((no_sanitize_thread, no_sanitize_coverage))
#endif

// A kernel and the values of its parameters. Not std::tuple: its accessors would be instrumented
// functions of their own, called between the lanes.
template <std::size_t index, class T>
struct Argument {
  T value;
};
template <class Indices, class... P>
struct BoundKernel;
template <std::size_t... index, class... P>
struct BoundKernel<std::index_sequence<index...>, P...> : Argument<index, P>... {
  static constexpr std::size_t word_bytes = sizeof(std::uint64_t);
  static constexpr std::size_t word_count =
      (std::size_t{0} + ... + ((sizeof(P) + word_bytes - 1) / word_bytes));

  void (*kernel)(P...);
  // The values once more, each from a word of its own on: no padding lies between them.
  std::uint64_t words[word_count + 1] = {};

  explicit BoundKernel(void (*kernel_)(P...), P... values)
      : Argument<index, P>{std::move(values)}..., kernel(kernel_) {
    [[maybe_unused]] std::uint64_t* to = words;
    ((std::memcpy(to, &static_cast<Argument<index, P>*>(this)->value, sizeof(P)),
      to += (sizeof(P) + word_bytes - 1) / word_bytes),
     ...);
  }

  GPUBENCH_UNCOUNTED static void invoke(const void* bound) {
    const auto& self = *static_cast<const BoundKernel*>(bound);
    self.kernel(static_cast<const Argument<index, P>&>(self).value...);
  }
};

cudaError_t launch(const cudaLaunchConfig_t* config, const void* function,
                   void (*invoke)(const void*), std::shared_ptr<const void> arguments,
                   const std::uint64_t* argument_words, std::size_t argument_word_count);

}  // namespace gpubench::model

template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(P...),
                               A&&... arguments) {
  static_assert(sizeof...(P) == sizeof...(A), "a kernel takes as many arguments as it declares");
  using Bound = gpubench::model::BoundKernel<std::index_sequence_for<P...>, P...>;
  const auto bound = std::make_shared<const Bound>(kernel, std::forward<A>(arguments)...);
  return gpubench::model::launch(config, reinterpret_cast<const void*>(kernel), &Bound::invoke,
                                 bound, bound->words, Bound::word_count);
}
