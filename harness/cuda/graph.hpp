#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <utility>

#include "harness/cuda/check.hpp"
#include "harness/cuda/stream.hpp"

namespace gpubench {

// What `body` queues in a stream, captured instead of carried out. The capture is global: calls
// that could block the host or allocate fail in it (CudaError, is_capture_failure()).
class Graph {
 public:
  explicit Graph(const std::function<void(cudaStream_t)>& body) {
    const Stream stream;
    CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    try {
      body(stream);
    } catch (...) {
      cudaGraph_t rest = nullptr;
      if (cudaStreamEndCapture(stream, &rest) == cudaSuccess) {
        static_cast<void>(cudaGraphDestroy(rest));
      }
      static_cast<void>(cudaGetLastError());  // the body's own error is the one that counts
      throw;
    }
    CUDA_CHECK(cudaStreamEndCapture(stream, &graph_));
  }
  ~Graph() {
    if (graph_ != nullptr) static_cast<void>(cudaGraphDestroy(graph_));
  }
  Graph(Graph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(graph_, other.graph_);
    return *this;
  }

  operator cudaGraph_t() const { return graph_; }
  // Operations in the graph; a graph launched inside it counts as one.
  std::size_t node_count() const {
    std::size_t count = 0;
    CUDA_CHECK(cudaGraphGetNodes(graph_, nullptr, &count));
    return count;
  }

 private:
  cudaGraph_t graph_ = nullptr;
};

// A graph that is ready to be launched, any number of times.
class ExecutableGraph {
 public:
  explicit ExecutableGraph(const Graph& graph) {
    CUDA_CHECK(cudaGraphInstantiate(&executable_, graph, 0));
  }
  explicit ExecutableGraph(const std::function<void(cudaStream_t)>& body)
      : ExecutableGraph(Graph(body)) {}
  ~ExecutableGraph() {
    if (executable_ != nullptr) static_cast<void>(cudaGraphExecDestroy(executable_));
  }
  ExecutableGraph(ExecutableGraph&& other) noexcept
      : executable_(std::exchange(other.executable_, nullptr)) {}
  ExecutableGraph& operator=(ExecutableGraph&& other) noexcept {
    std::swap(executable_, other.executable_);
    return *this;
  }

  void launch(cudaStream_t stream) const { CUDA_CHECK(cudaGraphLaunch(executable_, stream)); }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace gpubench
