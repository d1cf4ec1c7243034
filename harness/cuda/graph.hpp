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
    const std::size_t before = in_launched_graphs_;
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
    inner_ = in_launched_graphs_ - before;
  }
  ~Graph() {
    if (graph_ != nullptr) static_cast<void>(cudaGraphDestroy(graph_));
  }
  Graph(Graph&& other) noexcept
      : graph_(std::exchange(other.graph_, nullptr)), inner_(other.inner_) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(graph_, other.graph_);
    std::swap(inner_, other.inner_);
    return *this;
  }

  operator cudaGraph_t() const { return graph_; }
  // Operations that one launch of the graph stands for; those of graphs launched inside it too.
  std::size_t operation_count() const {
    std::size_t nodes = 0;
    CUDA_CHECK(cudaGraphGetNodes(graph_, nullptr, &nodes));
    return nodes + inner_;
  }

 private:
  friend class ExecutableGraph;
  // The operations of all graphs launched so far by this thread, beyond the launches themselves.
  inline static thread_local std::size_t in_launched_graphs_ = 0;

  cudaGraph_t graph_ = nullptr;
  std::size_t inner_ = 0;
};

// A graph that is ready to be launched, any number of times.
class ExecutableGraph {
 public:
  explicit ExecutableGraph(const Graph& graph) : operations_(graph.operation_count()) {
    CUDA_CHECK(cudaGraphInstantiate(&executable_, graph, 0));
  }
  explicit ExecutableGraph(const std::function<void(cudaStream_t)>& body)
      : ExecutableGraph(Graph(body)) {}
  ~ExecutableGraph() {
    if (executable_ != nullptr) static_cast<void>(cudaGraphExecDestroy(executable_));
  }
  ExecutableGraph(ExecutableGraph&& other) noexcept
      : executable_(std::exchange(other.executable_, nullptr)), operations_(other.operations_) {}
  ExecutableGraph& operator=(ExecutableGraph&& other) noexcept {
    std::swap(executable_, other.executable_);
    std::swap(operations_, other.operations_);
    return *this;
  }

  void launch(cudaStream_t stream) const {
    CUDA_CHECK(cudaGraphLaunch(executable_, stream));
    Graph::in_launched_graphs_ += operations_ > 1 ? operations_ - 1 : 0;
  }
  // That one launch stands for.
  std::size_t operation_count() const { return operations_; }

 private:
  cudaGraphExec_t executable_ = nullptr;
  std::size_t operations_ = 0;
};

}  // namespace gpubench
