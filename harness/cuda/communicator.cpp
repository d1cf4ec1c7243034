#include "harness/cuda/communicator.hpp"

#include <exception>
#include <stdexcept>
#include <string>

#ifdef GPUBENCH_NCCL

#include <nccl.h>

namespace gpubench {
namespace {

void check(ncclResult_t result, const char* call) {
  if (result == ncclSuccess) return;
  throw std::runtime_error(std::string(call) + ": " + ncclGetErrorString(result));
}

#define NCCL_CHECK(...) check((__VA_ARGS__), #__VA_ARGS__)

// Calls that belong together. One that fails leaves no group open, in which all later calls of this
// thread would wait.
void in_group(const std::function<void()>& calls) {
  NCCL_CHECK(ncclGroupStart());
  try {
    calls();
  } catch (...) {
    static_cast<void>(ncclGroupEnd());
    throw;
  }
  NCCL_CHECK(ncclGroupEnd());
}

// NCCL has had its own since 2.28; before, one sent and received the parts.
void all_to_all(const Ends& ends, std::size_t count, ncclDataType_t type,
                [[maybe_unused]] int ranks, [[maybe_unused]] std::size_t size, ncclComm_t handle,
                cudaStream_t stream) {
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
  NCCL_CHECK(ncclAlltoAll(ends.send, ends.receive, count, type, handle, stream));
#else
  for (int peer = 0; peer < ranks; ++peer) {
    const std::size_t at = static_cast<std::size_t>(peer) * count * size;
    NCCL_CHECK(
        ncclSend(static_cast<const std::byte*>(ends.send) + at, count, type, peer, handle, stream));
    NCCL_CHECK(
        ncclRecv(static_cast<std::byte*>(ends.receive) + at, count, type, peer, handle, stream));
  }
#endif
}

ncclDataType_t nccl_type(Number type) {
  return type == Number::fp32 ? ncclFloat32 : type == Number::fp16 ? ncclFloat16 : ncclBfloat16;
}

}  // namespace

struct Communicator::Handles {
  std::vector<ncclComm_t> of;  // by local rank
};

bool Communicator::is_built() { return true; }

Communicator::Communicator(const GpuRanks& ranks)
    : ranks_(ranks), handles_(std::make_unique<Handles>()) {
  ncclUniqueId id{};
  if (ProcessGroup::all().index() == 0) NCCL_CHECK(ncclGetUniqueId(&id));
  ProcessGroup::all().broadcast(&id, sizeof id);
  handles_->of.resize(static_cast<std::size_t>(ranks.local()), nullptr);
  in_group([&] {
    ranks.each([&](int i) {
      NCCL_CHECK(ncclCommInitRank(&handles_->of[static_cast<std::size_t>(i)], ranks.count(), id,
                                  ranks.rank(i)));
    });
  });
}

Communicator::~Communicator() {
  // A row that ends early may leave collectives in its streams.
  for (int i = 0; std::uncaught_exceptions() > 0 && i < ranks_.local(); ++i) {
    static_cast<void>(cudaSetDevice(ranks_.device(i)));
    static_cast<void>(cudaDeviceSynchronize());
  }
  for (const ncclComm_t handle : handles_->of) static_cast<void>(ncclCommDestroy(handle));
}

void Communicator::queue(Collective what, Number type, std::size_t count,
                         const std::vector<Ends>& ends,
                         const std::function<cudaStream_t(int)>& stream) const {
  const ncclDataType_t t = nccl_type(type);
  const auto call = [&](int i) {
    const ncclComm_t handle = handles_->of[static_cast<std::size_t>(i)];
    const auto& [send, receive] = ends[static_cast<std::size_t>(i)];
    switch (what) {
      case Collective::all_reduce:
        return NCCL_CHECK(ncclAllReduce(send, receive, count, t, ncclSum, handle, stream(i)));
      case Collective::reduce_scatter:
        return NCCL_CHECK(ncclReduceScatter(send, receive, count, t, ncclSum, handle, stream(i)));
      case Collective::all_gather:
        return NCCL_CHECK(ncclAllGather(send, receive, count, t, handle, stream(i)));
      case Collective::broadcast:
        return NCCL_CHECK(ncclBroadcast(send, receive, count, t, 0, handle, stream(i)));
      case Collective::all_to_all:
        return all_to_all(ends[static_cast<std::size_t>(i)], count, t, ranks_.count(),
                          type == Number::fp32 ? 4 : 2, handle, stream(i));
    }
  };
  in_group([&] { ranks_.each(call); });
}

}  // namespace gpubench

#else

namespace gpubench {

struct Communicator::Handles {};

bool Communicator::is_built() { return false; }

Communicator::Communicator(const GpuRanks& ranks) : ranks_(ranks) {
  throw std::logic_error("built without NCCL");
}

Communicator::~Communicator() = default;

void Communicator::queue(Collective, Number, std::size_t, const std::vector<Ends>&,
                         const std::function<cudaStream_t(int)>&) const {}

}  // namespace gpubench

#endif
