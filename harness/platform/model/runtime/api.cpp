// The API's functions for errors, devices, kernels and the driver; and the runtime they talk to.
#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "harness/platform/model/launch/symbols.hpp"
#include "harness/platform/model/memory/tensor_map.hpp"
#include "harness/platform/model/runtime/api.hpp"
#include "harness/platform/model/runtime/api_virtual_memory.hpp"
#include "harness/platform/model/runtime/runtime.hpp"

namespace gpubench::model {
namespace {

std::unique_ptr<Runtime> installed;

// Numeric values agree between the runtime's and the driver's errors.
CUresult driver_error(cudaError_t error) { return static_cast<CUresult>(error); }

CUresult stream_wait_value(CUstream stream, CUdeviceptr address, cuuint32_t value,
                           unsigned int flags) {
  return driver_error(call("cuStreamWaitValue32", [&](Runtime& r) {
    return r.wait_value(stream, address, value, flags);
  }));
}

CUresult stream_write_value(CUstream stream, CUdeviceptr address, cuuint32_t value,
                            unsigned int flags) {
  return driver_error(call("cuStreamWriteValue32", [&](Runtime& r) {
    return flags == CU_STREAM_WRITE_VALUE_DEFAULT ? r.write_value(stream, address, value)
                                                  : cudaErrorInvalidValue;
  }));
}

}  // namespace

std::unique_ptr<Runtime> install_runtime(std::unique_ptr<Runtime> runtime) {
  return std::exchange(installed, std::move(runtime));
}

Runtime* current_runtime() { return installed.get(); }

cudaError_t launch(const cudaLaunchConfig_t* config, const void* function,
                   void (*invoke)(const void*), std::shared_ptr<const void> arguments,
                   const std::uint64_t* argument_words, std::size_t argument_word_count) {
  return call("cudaLaunchKernelEx", [&](Runtime& r) {
    if (config == nullptr) return cudaErrorInvalidValue;
    bool programmatic = false, cooperative = false;
    unsigned cluster = 1;
    for (unsigned i = 0; i < config->numAttrs; ++i) {
      const cudaLaunchAttribute& attribute = config->attrs[i];
      if (attribute.id == cudaLaunchAttributeProgrammaticStreamSerialization) {
        programmatic = attribute.val.programmaticStreamSerializationAllowed != 0;
      } else if (attribute.id == cudaLaunchAttributeCooperative) {
        cooperative = attribute.val.cooperative != 0;
      } else if (attribute.id == cudaLaunchAttributeClusterDimension) {
        const auto& size = attribute.val.clusterDim;
        cluster = size.x;
        if (size.y != 1 || size.z != 1) return cudaErrorNotSupported;  // by the model
      } else {
        return cudaErrorInvalidValue;
      }
    }
    if (cooperative && cluster > 1) return cudaErrorNotSupported;  // by the model
    return r.launch({.function = function,
                     .name = readable_name(function),
                     .grid = config->gridDim,
                     .block = config->blockDim,
                     .cluster = cluster,
                     .shared_bytes = config->dynamicSmemBytes,
                     .cooperative = cooperative,
                     .programmatic = programmatic,
                     .invoke = invoke,
                     .arguments = std::move(arguments),
                     .argument_words = {argument_words, argument_word_count}},
                    config->stream);
  });
}

}  // namespace gpubench::model

using gpubench::model::call;
using gpubench::model::Runtime;

// --- errors ---

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
#define GPUBENCH_NAME(name, value, text) \
  case name:                             \
    return #name;
    GPUBENCH_CUDA_ERRORS(GPUBENCH_NAME)
#undef GPUBENCH_NAME
  }
  return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
#define GPUBENCH_TEXT(name, value, text) \
  case name:                             \
    return text;
    GPUBENCH_CUDA_ERRORS(GPUBENCH_TEXT)
#undef GPUBENCH_TEXT
  }
  return "unrecognized error code";
}

cudaError_t cudaGetLastError() {
  Runtime* const r = gpubench::model::current_runtime();
  return r == nullptr ? cudaErrorNoDevice : r->take_last_error();
}

cudaError_t cudaPeekAtLastError() {
  Runtime* const r = gpubench::model::current_runtime();
  return r == nullptr ? cudaErrorNoDevice : r->peek_last_error();
}

// --- device ---

cudaError_t cudaGetDeviceCount(int* count) {
  return call(__func__, [&](Runtime& r) {
    if (count == nullptr) return cudaErrorInvalidValue;
    *count = r.device_count();
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return call(__func__, [&](Runtime& r) { return r.set_device(device); });
}

cudaError_t cudaGetDevice(int* device) {
  return call(__func__, [&](Runtime& r) {
    if (device == nullptr) return cudaErrorInvalidValue;
    *device = r.current_device();
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return call(__func__, [&](Runtime& r) { return r.properties(properties, device); });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return call(__func__, [&](Runtime& r) { return r.attribute(value, attribute, device); });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return call(__func__, [&](Runtime&) {
    constexpr std::string_view id = "0000:00:00.0";  // the model sits on no bus
    if (device != 0) return cudaErrorInvalidDevice;
    if (text == nullptr || length <= static_cast<int>(id.size())) return cudaErrorInvalidValue;
    std::memcpy(text, id.data(), id.size() + 1);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int device,
                                      int peer) {
  return call(__func__,
              [&](Runtime& r) { return r.peer_attribute(value, attribute, device, peer); });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return call(__func__, [&](Runtime& r) { return r.can_access_peer(can, device, peer); });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  return call(__func__, [&](Runtime& r) {
    return flags == 0 ? r.enable_peer_access(peer) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return call(__func__, [&](Runtime& r) { return r.device_synchronize(); });
}

// The two that need no device.
cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return cudaErrorInvalidValue;
  *version = CUDART_VERSION;
  return cudaSuccess;
}

// --- driver entry points ---

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function,
                                             unsigned int version, unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* status) {
  return call(__func__, [&](Runtime& r) {
    if (symbol == nullptr || function == nullptr || flags != cudaEnableDefault ||
        version > CUDART_VERSION) {
      return cudaErrorInvalidValue;
    }
    const std::string_view wanted = symbol;
    *function = gpubench::model::virtual_memory_function(wanted);
    if (wanted == "cuTensorMapEncodeTiled") {
      *function = reinterpret_cast<void*>(&gpubench::model::encode_tensor_map);
    }
    if (r.stream_memory_operations()) {
      if (wanted == "cuStreamWaitValue32") {
        *function = reinterpret_cast<void*>(&gpubench::model::stream_wait_value);
      } else if (wanted == "cuStreamWriteValue32") {
        *function = reinterpret_cast<void*>(&gpubench::model::stream_write_value);
      }
    }
    if (status != nullptr) {
      *status =
          *function == nullptr ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
    }
    return cudaSuccess;
  });
}

// --- kernels ---

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return call(__func__, [&](Runtime& r) { return r.function_attributes(attributes, function); });
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  return call(__func__, [&](Runtime&) {
    if (name == nullptr) return cudaErrorInvalidValue;
    *name = gpubench::model::readable_name(function);
    return cudaSuccess;
  });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return call(__func__, [&](Runtime& r) {
    switch (attribute) {
      case cudaFuncAttributeMaxDynamicSharedMemorySize:
        return r.set_max_dynamic_shared(function, value);
      case cudaFuncAttributeNonPortableClusterSizeAllowed:
        return r.allow_large_clusters(function, value != 0);
    }
    return cudaErrorInvalidValue;
  });
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* blocks, const void* function,
                                                 const cudaLaunchConfig_t*) {
  return call(__func__, [&](Runtime& r) {
    if (blocks == nullptr) return cudaErrorInvalidValue;
    *blocks = static_cast<int>(r.max_cluster(function));
    return cudaSuccess;
  });
}

// The model knows no GPCs: clusters fill all SMs.
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                           const cudaLaunchConfig_t* config) {
  return call(__func__, [&](Runtime& r) {
    if (clusters == nullptr || config == nullptr) return cudaErrorInvalidValue;
    unsigned cluster = 1;
    for (unsigned i = 0; i < config->numAttrs; ++i) {
      if (config->attrs[i].id == cudaLaunchAttributeClusterDimension) {
        cluster = config->attrs[i].val.clusterDim.x;
      }
    }
    if (cluster == 0) return cudaErrorInvalidClusterSize;
    int blocks = 0;
    const dim3 block = config->blockDim;
    const cudaError_t error = r.occupancy_blocks(
        &blocks, function, static_cast<int>(block.x * block.y * block.z), config->dynamicSmemBytes);
    if (error != cudaSuccess) return error;
    const int sms = static_cast<int>(r.device()["sm_count"]);
    *clusters = cluster > r.max_cluster(function) ? 0 : blocks * sms / static_cast<int>(cluster);
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                          int block_threads,
                                                          std::size_t dynamic_shared_bytes) {
  return call(__func__, [&](Runtime& r) {
    return r.occupancy_blocks(blocks, function, block_threads, dynamic_shared_bytes);
  });
}

// --- profiler ---

cudaError_t cudaProfilerStart() {
  return call(__func__, [](Runtime&) { return cudaSuccess; });
}

cudaError_t cudaProfilerStop() {
  return call(__func__, [](Runtime&) { return cudaSuccess; });
}
