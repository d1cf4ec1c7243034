#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <utility>

#include "harness/cuda/check.hpp"
#include "harness/cuda/stream.hpp"

namespace gpubench {

// What `body` queues in a stream, captured instead of carried out. The capture is global: calls
// that could block the host or allocate fail in it (CudaError, is_capture_failure()). So would
// cudaGraphLaunch: what graphs that the body launches hold is counted and left out.
class Graph {
 public:
  explicit Graph(const std::function<void(cudaStream_t)>& body) {
    const Stream stream;
    const Counting counting;
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
    left_out_ = counting.operations();
  }
  ~Graph() {
    if (graph_ != nullptr) static_cast<void>(cudaGraphDestroy(graph_));
  }
  Graph(Graph&& other) noexcept
      : graph_(std::exchange(other.graph_, nullptr)), left_out_(other.left_out_) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(graph_, other.graph_);
    std::swap(left_out_, other.left_out_);
    return *this;
  }

  operator cudaGraph_t() const { return graph_; }
  // Whether a launch of the graph does all that a call of the body does.
  bool is_whole() const { return left_out_ == 0; }
  // Operations that one call of the body queues, those of graphs that it launches too.
  std::size_t operation_count() const {
    std::size_t nodes = 0;
    CUDA_CHECK(cudaGraphGetNodes(graph_, nullptr, &nodes));
    return nodes + left_out_;
  }

 private:
  friend class ExecutableGraph;
  // While one exists in this thread, launches of graphs only count.
  class Counting {
   public:
    Counting() : outer_(std::exchange(current_, this)) {}
    ~Counting() { current_ = outer_; }
    Counting(const Counting&) = delete;
    Counting& operator=(const Counting&) = delete;
    std::size_t operations() const { return operations_; }
    static Counting* current() { return current_; }
    void add(std::size_t operations) { operations_ += operations; }

   private:
    inline static thread_local Counting* current_ = nullptr;
    Counting* outer_;
    std::size_t operations_ = 0;
  };

  cudaGraph_t graph_ = nullptr;
  std::size_t left_out_ = 0;
};

// A graph that is ready to be launched, any number of times.
class ExecutableGraph {
 public:
  // std::logic_error: the body launches graphs itself.
  explicit ExecutableGraph(const Graph& graph) : operations_(graph.operation_count()) {
    if (!graph.is_whole()) throw std::logic_error("a graph of launches of graphs");
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
    if (Graph::Counting* const counting = Graph::Counting::current()) {
      counting->add(std::max<std::size_t>(operations_, 1));
      return;
    }
    CUDA_CHECK(cudaGraphLaunch(executable_, stream));
  }
  // That one launch stands for.
  std::size_t operation_count() const { return operations_; }

 private:
  cudaGraphExec_t executable_ = nullptr;
  std::size_t operations_ = 0;
};

}  // namespace gpubench
