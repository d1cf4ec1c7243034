// CUDA's error codes that the suite and the model know.
#pragma once

// X(name, value, what cudaGetErrorString says)
#define GPUBENCH_CUDA_ERRORS(X)                                                                    \
  X(cudaSuccess, 0, "no error")                                                                    \
  X(cudaErrorInvalidValue, 1, "invalid argument")                                                  \
  X(cudaErrorMemoryAllocation, 2, "out of memory")                                                 \
  X(cudaErrorInitializationError, 3, "initialization error")                                       \
  X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")                            \
  X(cudaErrorInvalidDevicePointer, 17, "invalid device pointer")                                   \
  X(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")                      \
  X(cudaErrorInsufficientDriver, 35,                                                               \
    "CUDA driver version is insufficient for CUDA runtime version")                                \
  X(cudaErrorDevicesUnavailable, 46, "all CUDA-capable devices are busy or unavailable")           \
  X(cudaErrorInvalidDeviceFunction, 98, "invalid device function")                                 \
  X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                                  \
  X(cudaErrorInvalidDevice, 101, "invalid device ordinal")                                         \
  X(cudaErrorNoKernelImageForDevice, 209,                                                          \
    "no kernel image is available for execution on the device")                                    \
  X(cudaErrorDeviceUninitialized, 201, "invalid device context")                                   \
  X(cudaErrorECCUncorrectable, 214, "uncorrectable ECC error encountered")                         \
  X(cudaErrorPeerAccessUnsupported, 217, "peer access is not supported between these two devices") \
  X(cudaErrorNvlinkUncorrectable, 220, "uncorrectable NVLink error detected during the execution") \
  X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                                \
  X(cudaErrorIllegalState, 401, "the operation cannot be performed in the present state")          \
  X(cudaErrorSymbolNotFound, 500, "named symbol not found")                                        \
  X(cudaErrorNotReady, 600, "device not ready")                                                    \
  X(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered")                      \
  X(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch")                 \
  X(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated")                        \
  X(cudaErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled")                      \
  X(cudaErrorContextIsDestroyed, 709, "context is destroyed")                                      \
  X(cudaErrorAssert, 710, "device-side assert triggered")                                          \
  X(cudaErrorHostMemoryAlreadyRegistered, 712,                                                     \
    "part or all of the requested memory range is already mapped")                                 \
  X(cudaErrorHostMemoryNotRegistered, 713,                                                         \
    "pointer does not correspond to a registered memory region")                                   \
  X(cudaErrorHardwareStackError, 714, "hardware stack error")                                      \
  X(cudaErrorIllegalInstruction, 715, "an illegal instruction was encountered")                    \
  X(cudaErrorMisalignedAddress, 716, "misaligned address")                                         \
  X(cudaErrorInvalidAddressSpace, 717, "operation not supported on global/shared address space")   \
  X(cudaErrorInvalidPc, 718, "invalid program counter")                                            \
  X(cudaErrorLaunchFailure, 719, "unspecified launch failure")                                     \
  X(cudaErrorNotPermitted, 800, "operation not permitted")                                         \
  X(cudaErrorNotSupported, 801, "operation not supported")                                         \
  X(cudaErrorSystemNotReady, 802, "system not yet initialized")                                    \
  X(cudaErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch")              \
  X(cudaErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing")    \
  X(cudaErrorStreamCaptureInvalidated, 901,                                                        \
    "operation failed due to a previous error during capture")                                     \
  X(cudaErrorStreamCaptureMerge, 902,                                                              \
    "operation would result in a merge of separate capture sequences")                             \
  X(cudaErrorStreamCaptureUnmatched, 903, "capture was not ended in the same stream as it began")  \
  X(cudaErrorStreamCaptureUnjoined, 904, "capturing stream has unjoined work")                     \
  X(cudaErrorStreamCaptureIsolation, 905,                                                          \
    "dependency created on uncaptured work in another stream")                                     \
  X(cudaErrorStreamCaptureImplicit, 906,                                                           \
    "operation would make the legacy stream depend on a capturing blocking stream")                \
  X(cudaErrorCapturedEvent, 907,                                                                   \
    "operation not permitted on an event last recorded in a capturing stream")                     \
  X(cudaErrorStreamCaptureWrongThread, 908,                                                        \
    "attempt to terminate a thread-local capture sequence from another thread")                    \
  X(cudaErrorInvalidClusterSize, 912, "cluster misconfiguration")                                  \
  X(cudaErrorUnknown, 999, "unknown error")

enum cudaError {
#define GPUBENCH_ENUMERATOR(name, value, text) name = value,
  GPUBENCH_CUDA_ERRORS(GPUBENCH_ENUMERATOR)
#undef GPUBENCH_ENUMERATOR
};
using cudaError_t = cudaError;
