// One spelling of a kernel launch for nvcc and for the model, where <<<>>> cannot be parsed.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "harness/cuda/check.hpp"
#include "harness/cuda/listener.hpp"
#include "harness/records/tracks.hpp"

namespace gpubench {

// What every kernel gets without asking; beyond it a kernel's limit has to be raised first.
inline constexpr std::size_t shared_bytes_without_asking = 48 * 1024;

// Raises the kernel's limit where `shared_bytes` are beyond it.
template <class... P>
void allow_shared_bytes(void (*kernel)(P...), std::size_t shared_bytes) {
  if (shared_bytes > shared_bytes_without_asking) {
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(shared_bytes)));
  }
}

namespace detail {

[[noreturn]] void launch_failed(cudaError_t error, dim3 grid, dim3 block, std::size_t shared_bytes);

template <class... P, class... A>
void launch_with(std::span<cudaLaunchAttribute> attributes, void (*kernel)(P...), dim3 grid,
                 dim3 block, std::size_t shared_bytes, cudaStream_t stream, A&&... arguments) {
  allow_shared_bytes(kernel, shared_bytes);
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = attributes.data();
  config.numAttrs = static_cast<unsigned>(attributes.size());
  const cudaError_t error = [&] {
    AnnouncedCall announced({.name = "cudaLaunchKernelEx",
                             .stream = stream,
                             .queues = true,
                             .kernel = reinterpret_cast<const void*>(kernel),
                             .engine = compute_track});
    return announced.returned(cudaLaunchKernelEx(&config, kernel, std::forward<A>(arguments)...));
  }();
  if (error != cudaSuccess) launch_failed(error, grid, block, shared_bytes);
}

}  // namespace detail

// Queues `kernel` in `stream`; `arguments` are converted to its parameters' types. As in CUDA, an
// empty grid or block is an error (cudaErrorInvalidValue): whoever has nothing to do does not
// launch.
template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared_bytes,
            cudaStream_t stream, A&&... arguments) {
  detail::launch_with({}, kernel, grid, block, shared_bytes, stream, std::forward<A>(arguments)...);
}

// The same for a kernel that may begin before the kernel before it in the stream has ended, and
// itself waits for that (programmatic_launch.hpp). Compute capability 9.0 and later.
template <class... P, class... A>
void launch_programmatic(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared_bytes,
                         cudaStream_t stream, A&&... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  detail::launch_with({&attribute, 1}, kernel, grid, block, shared_bytes, stream,
                      std::forward<A>(arguments)...);
}

// The same for a kernel whose blocks are all resident at once, so that they may wait for each other
// (cooperative_groups::this_grid().sync()). A larger grid is an error
// (cudaErrorCooperativeLaunchTooLarge).
template <class... P, class... A>
void launch_cooperative(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared_bytes,
                        cudaStream_t stream, A&&... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  detail::launch_with({&attribute, 1}, kernel, grid, block, shared_bytes, stream,
                      std::forward<A>(arguments)...);
}

// What every device with clusters takes; a kernel has to ask for larger ones.
inline constexpr unsigned portable_cluster_blocks = 8;
inline constexpr unsigned most_cluster_blocks = 16;  // of any device

inline cudaLaunchAttribute in_clusters_of(unsigned blocks) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = blocks;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  return attribute;
}
template <class... P>
void allow_large_clusters(void (*kernel)(P...)) {
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
}

// The same for a kernel whose blocks run together in clusters of so many, side by side along x
// (cluster.hpp). Compute capability 9.0 and later.
template <class... P, class... A>
void launch_cluster(void (*kernel)(P...), unsigned cluster, dim3 grid, dim3 block,
                    std::size_t shared_bytes, cudaStream_t stream, A&&... arguments) {
  if (cluster > portable_cluster_blocks) allow_large_clusters(kernel);
  cudaLaunchAttribute attribute = in_clusters_of(cluster);
  detail::launch_with({&attribute, 1}, kernel, grid, block, shared_bytes, stream,
                      std::forward<A>(arguments)...);
}

// In clusters where they have more than one block, and on any GPU where they do not.
template <class... P, class... A>
void launch_by_cluster(void (*kernel)(P...), unsigned cluster, dim3 grid, dim3 block,
                       std::size_t shared_bytes, cudaStream_t stream, A&&... arguments) {
  if (cluster == 1) {
    launch(kernel, grid, block, shared_bytes, stream, std::forward<A>(arguments)...);
  } else {
    launch_cluster(kernel, cluster, grid, block, shared_bytes, stream,
                   std::forward<A>(arguments)...);
  }
}

}  // namespace gpubench
