#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <vector>

#include "harness/cuda/event.hpp"
#include "harness/cuda/stream.hpp"

namespace gpubench {

// Several streams between a fork from one stream and a join into it. Both are events: the host does
// not wait, and both can be captured.
class Lanes {
 public:
  explicit Lanes(std::size_t count, unsigned flags = cudaStreamNonBlocking) {
    for (std::size_t i = 0; i < count; ++i) {
      streams_.emplace_back(flags);
      joins_.emplace_back(cudaEventDisableTiming);
    }
  }

  // What the lanes get from now on comes after what `from` has so far.
  void fork(cudaStream_t from) const {
    fork_.record(from);
    for (const Stream& stream : streams_) fork_.hold(stream);
  }
  // What `into` gets from now on comes after what the lanes have so far.
  void join(cudaStream_t into) const {
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      joins_[i].record(streams_[i]);
      joins_[i].hold(into);
    }
  }

  std::size_t size() const { return streams_.size(); }
  cudaStream_t operator[](std::size_t i) const { return streams_[i]; }

 private:
  std::vector<Stream> streams_;
  std::vector<Event> joins_;
  Event fork_{cudaEventDisableTiming};
};

}  // namespace gpubench
