// NCCL's calls in virtual time: a collective is one operation on the timeline that starts when all
// ranks of this process have come to it. Its cost is cost.hpp's; its result, where it is asked for
// and small enough, is computed by a plain loop.
#include "harness/platform/model/collectives/nccl.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <nccl.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "harness/platform/model/collectives/cost.hpp"
#include "harness/platform/model/runtime/runtime.hpp"

namespace gpubench::model {
namespace {

// The ranks of one communicator that live in this process.
struct Clique {
  int ranks = 0;
  std::map<int, ncclComm_t> local;
};

struct Call {
  Collective what;
  const void* send;
  void* receive;
  std::size_t count;  // as the call takes it
  ncclDataType_t type;
  int root;
  ncclComm_t communicator;
  cudaStream_t stream;
};

struct Start {
  ncclComm_t* communicator;
  std::string id;
  int ranks, rank, device;
};

Exchange exchange_bytes;

struct OpenGroup {
  int depth = 0;
  std::vector<Call> calls;
  std::vector<Start> starts;
};
thread_local OpenGroup group;

std::uint64_t ids_given = 0;

}  // namespace

void set_collective_exchange(Exchange exchange) { exchange_bytes = std::move(exchange); }

}  // namespace gpubench::model

struct ncclComm {
  std::shared_ptr<gpubench::model::Clique> clique;
  int rank;
  int device;
};

namespace gpubench::model {
namespace {

// Whether this call is one that is made to fail.
bool is_refused(const char* function, const void* caller) {
  Runtime* const runtime = current_runtime();
  return runtime != nullptr && runtime->refusal(function, caller) != cudaSuccess;
}

ncclResult_t wrong(ncclResult_t result, const std::string& line) {
  current_runtime()->report(line);
  return result;
}

std::size_t element_bytes(ncclDataType_t type) { return type == ncclFloat32 ? 4 : 2; }

// In elements: `count` for each rank, if the call is `one_for_each` or an all-to-all.
std::size_t elements_of(const Call& call, Collective one_for_each) {
  const bool is_for_each = call.what == one_for_each || call.what == Collective::all_to_all;
  return is_for_each ? call.count * static_cast<std::size_t>(call.communicator->clique->ranks)
                     : call.count;
}
// What each rank brings and what it takes away.
std::size_t brought(const Call& call) { return elements_of(call, Collective::reduce_scatter); }
std::size_t taken(const Call& call) { return elements_of(call, Collective::all_gather); }

// NCCL adds in the order of its ring; here in that of the ranks. Exact wherever the sum is.
template <class T>
void add_into(std::vector<float>& sums, const std::byte* from, std::size_t first) {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    T value;
    std::memcpy(&value, from + (first + i) * sizeof(T), sizeof(T));
    sums[i] += static_cast<float>(value);
  }
}

template <class T>
std::vector<std::byte> sum_of(const std::vector<std::byte>& all, std::size_t each, int ranks,
                              std::size_t first, std::size_t count) {
  std::vector<float> sums(count, 0.0f);
  for (int rank = 0; rank < ranks; ++rank) {
    add_into<T>(sums, all.data() + static_cast<std::size_t>(rank) * each * sizeof(T), first);
  }
  std::vector<std::byte> result(count * sizeof(T));
  for (std::size_t i = 0; i < count; ++i) {
    const T value = static_cast<T>(sums[i]);
    std::memcpy(result.data() + i * sizeof(T), &value, sizeof(T));
  }
  return result;
}

// `calls`: one a local rank, in order of rank.
void compute(const std::vector<Call>& calls, DeviceMemory& memory) {
  const Call& first = calls.front();
  const int ranks = first.communicator->clique->ranks;
  const std::size_t bytes = element_bytes(first.type);
  const std::size_t each = brought(first);
  std::vector<std::byte> all(calls.size() * each * bytes);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    memory.read(all.data() + i * each * bytes, calls[i].send, each * bytes);
  }
  if (calls.size() < static_cast<std::size_t>(ranks)) all = exchange_bytes(all);
  for (const Call& call : calls) {
    const auto rank = static_cast<std::size_t>(call.communicator->rank);
    const auto summed = [&](std::size_t from) {
      const auto sum = first.type == ncclFloat32   ? sum_of<float>
                       : first.type == ncclFloat16 ? sum_of<__half>
                                                   : sum_of<__nv_bfloat16>;
      return sum(all, each, ranks, from, call.count);
    };
    switch (call.what) {
      case Collective::all_reduce:
        memory.write(call.receive, summed(0).data(), each * bytes);
        break;
      case Collective::reduce_scatter:
        memory.write(call.receive, summed(rank * call.count).data(), call.count * bytes);
        break;
      case Collective::all_gather:
        memory.write(call.receive, all.data(), all.size());
        break;
      case Collective::broadcast:
        memory.write(call.receive, all.data() + static_cast<std::size_t>(call.root) * each * bytes,
                     each * bytes);
        break;
      case Collective::all_to_all:
        for (std::size_t from = 0; from < static_cast<std::size_t>(ranks); ++from) {
          memory.write(static_cast<std::byte*>(call.receive) + from * call.count * bytes,
                       all.data() + (from * each + rank * call.count) * bytes, call.count * bytes);
        }
        break;
    }
  }
}

// A rank's memory lies on its own device.
bool holds(const Call& call, const void* address, std::size_t elements) {
  const std::size_t bytes = elements * element_bytes(call.type);
  const Allocation* allocation = current_runtime()->memory().find(address);
  return bytes == 0 || (allocation != nullptr && allocation->contains(address, bytes) &&
                        allocation->device == call.communicator->device);
}

Claim claim_of(const std::vector<Call>& calls, const CollectiveCost& cost,
               const DeviceSpec& device) {
  Claim claim{.devices = {},
              .sms = std::min(1.0, cost.channels / device["sm_count"]),
              .memory = std::min(
                  1.0, cost.memory_bytes /
                           (device["dram_bytes_per_second"] * device["dram_mixed_efficiency"]) /
                           cost.seconds())};
  for (const Call& call : calls) claim.devices.push_back(call.communicator->device);
  return claim;
}

ncclResult_t run(std::vector<Call> calls) {
  const Call& first = calls.front();
  const Clique& clique = *first.communicator->clique;
  if (calls.size() != clique.local.size()) {
    return wrong(ncclInvalidUsage, std::to_string(calls.size()) + " of the " +
                                       std::to_string(clique.local.size()) +
                                       " ranks in this process came to a collective: NCCL would "
                                       "wait for the others forever");
  }
  std::sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) {
    return a.communicator->rank < b.communicator->rank;
  });
  for (const Call& call : calls) {
    if (call.what != first.what || call.count != first.count || call.type != first.type ||
        call.root != first.root) {
      return wrong(ncclInvalidUsage, "the ranks of a collective do not agree on what it is");
    }
    if (!holds(call, call.send, brought(call)) || !holds(call, call.receive, taken(call))) {
      return wrong(ncclInvalidArgument, "rank " + std::to_string(call.communicator->rank) +
                                            ": a buffer is not on the rank's device, or is short");
    }
  }
  if (first.count == 0) return ncclSuccess;
  std::vector<cudaStream_t> streams;
  for (const Call& call : calls) streams.push_back(call.stream);

  const std::size_t vector = std::max(brought(first), taken(first));
  const auto bytes = static_cast<double>(vector * element_bytes(first.type));
  Runtime& runtime = *current_runtime();
  const CollectiveCost cost = collective_cost(first.what, bytes, clique.ranks, runtime.device());
  const bool small = vector * static_cast<std::size_t>(clique.ranks) <= most_computed_elements;
  Work work{.name = "NCCL " + cost.algorithm};
  work.claim = std::make_shared<Claim>(claim_of(calls, cost, runtime.device()));
  work.touches = std::make_shared<Touches>();
  for (const Call& call : calls) {
    const std::size_t element = element_bytes(call.type);
    add_touch(*work.touches, runtime.memory(), call.send, brought(call) * element, Touch::read);
    add_touch(*work.touches, runtime.memory(), call.receive, taken(call) * element, Touch::write);
  }
  work.carry_out = [calls = std::move(calls), cost, small, &runtime] {
    const bool computed = small && runtime.expects_results();
    if (computed) compute(calls, runtime.memory());
    runtime.note_operation({"NCCL " + cost.algorithm,
                            cost.bound(),
                            {{"latency", cost.latency_seconds},
                             {cost.network ? "network" : "link", cost.transfer_seconds}},
                            cost.seconds(),
                            computed});
    return cost.seconds();
  };
  const cudaError_t error =
      runtime.call("ncclGroupEnd", [&] { return runtime.together(streams, std::move(work)); });
  return error == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t start_all(const std::vector<Start>& starts) {
  std::map<std::string, std::shared_ptr<Clique>> cliques;
  for (const Start& start : starts) {
    std::shared_ptr<Clique>& clique = cliques[start.id];
    if (clique == nullptr) clique = std::make_shared<Clique>(Clique{start.ranks, {}});
    auto communicator = std::make_unique<ncclComm>(ncclComm{clique, start.rank, start.device});
    if (start.ranks != clique->ranks || start.rank < 0 || start.rank >= start.ranks ||
        !clique->local.emplace(start.rank, communicator.get()).second) {
      return wrong(ncclInvalidArgument, "ranks of a communicator are 0 .. n - 1, each once");
    }
    *start.communicator = communicator.release();
  }
  for (const auto& [id, clique] : cliques) {
    if (!has_collectives(current_runtime()->device()) && clique->ranks > 1) {
      return wrong(ncclSystemError, "this device's file says nothing of its links to others");
    }
    if (clique->local.size() < static_cast<std::size_t>(clique->ranks) && !exchange_bytes) {
      return wrong(ncclInvalidUsage, "only " + std::to_string(clique->local.size()) + " of " +
                                         std::to_string(clique->ranks) +
                                         " ranks came: NCCL would wait forever");
    }
  }
  return ncclSuccess;
}

ncclResult_t end_group() {
  OpenGroup ended = std::exchange(group, {});
  if (const ncclResult_t result = start_all(ended.starts); result != ncclSuccess) return result;
  // The k-th call of one rank meets the k-th of the others.
  while (!ended.calls.empty()) {
    const Clique* const clique = ended.calls.front().communicator->clique.get();
    std::vector<Call> meeting, rest;
    std::vector<ncclComm_t> came;
    for (const Call& call : ended.calls) {
      const bool now = call.communicator->clique.get() == clique &&
                       std::find(came.begin(), came.end(), call.communicator) == came.end();
      if (now) came.push_back(call.communicator);
      (now ? meeting : rest).push_back(call);
    }
    if (const ncclResult_t result = run(std::move(meeting)); result != ncclSuccess) return result;
    ended.calls = std::move(rest);
  }
  return ncclSuccess;
}

ncclResult_t queue(const Call& call) {
  if (current_runtime() == nullptr) return ncclUnhandledCudaError;
  if (call.communicator == nullptr) return ncclInvalidArgument;
  if (call.root < 0 || call.root >= call.communicator->clique->ranks) return ncclInvalidArgument;
  group.calls.push_back(call);
  return group.depth > 0 ? ncclSuccess : end_group();
}

}  // namespace
}  // namespace gpubench::model

using gpubench::model::Collective;
using gpubench::model::group;

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error";
    case ncclSystemError:
      return "unhandled system error";
    case ncclInternalError:
      return "internal error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
  }
  return "unknown result code";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (gpubench::model::is_refused(__func__, __builtin_return_address(0)))
    return ncclUnhandledCudaError;
  if (id == nullptr) return ncclInvalidArgument;
  *id = {};
  const std::string text = "gpubench-model-" + std::to_string(++gpubench::model::ids_given);
  text.copy(id->internal, sizeof id->internal - 1);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* communicator, int ranks, ncclUniqueId id, int rank) {
  if (gpubench::model::is_refused(__func__, __builtin_return_address(0)))
    return ncclUnhandledCudaError;
  if (communicator == nullptr || ranks < 1) return ncclInvalidArgument;
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return ncclUnhandledCudaError;
  group.starts.push_back({communicator, id.internal, ranks, rank, device});
  return group.depth > 0 ? ncclSuccess : gpubench::model::end_group();
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  if (gpubench::model::is_refused(__func__, __builtin_return_address(0)))
    return ncclUnhandledCudaError;
  if (communicator == nullptr) return ncclInvalidArgument;
  communicator->clique->local.erase(communicator->rank);
  delete communicator;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  if (gpubench::model::is_refused(__func__, __builtin_return_address(0)))
    return ncclUnhandledCudaError;
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (gpubench::model::is_refused(__func__, __builtin_return_address(0))) {
    group = {};  // a group that fails to end has ended all the same
    return ncclUnhandledCudaError;
  }
  if (group.depth == 0) return ncclInvalidUsage;
  return --group.depth > 0 ? ncclSuccess : gpubench::model::end_group();
}

ncclResult_t ncclAllReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t, ncclComm_t communicator, cudaStream_t stream) {
  if (gpubench::model::is_refused(__func__, __builtin_return_address(0)))
    return ncclUnhandledCudaError;
  return gpubench::model::queue(
      {Collective::all_reduce, send, receive, count, type, 0, communicator, stream});
}

ncclResult_t ncclReduceScatter(const void* send, void* receive, std::size_t receive_count,
                               ncclDataType_t type, ncclRedOp_t, ncclComm_t communicator,
                               cudaStream_t stream) {
  if (gpubench::model::is_refused(__func__, __builtin_return_address(0)))
    return ncclUnhandledCudaError;
  return gpubench::model::queue(
      {Collective::reduce_scatter, send, receive, receive_count, type, 0, communicator, stream});
}

ncclResult_t ncclAllGather(const void* send, void* receive, std::size_t send_count,
                           ncclDataType_t type, ncclComm_t communicator, cudaStream_t stream) {
  if (gpubench::model::is_refused(__func__, __builtin_return_address(0)))
    return ncclUnhandledCudaError;
  return gpubench::model::queue(
      {Collective::all_gather, send, receive, send_count, type, 0, communicator, stream});
}

ncclResult_t ncclBroadcast(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t communicator, cudaStream_t stream) {
  if (gpubench::model::is_refused(__func__, __builtin_return_address(0)))
    return ncclUnhandledCudaError;
  return gpubench::model::queue(
      {Collective::broadcast, send, receive, count, type, root, communicator, stream});
}

ncclResult_t ncclAlltoAll(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                          ncclComm_t communicator, cudaStream_t stream) {
  if (gpubench::model::is_refused(__func__, __builtin_return_address(0)))
    return ncclUnhandledCudaError;
  return gpubench::model::queue(
      {Collective::all_to_all, send, receive, count, type, 0, communicator, stream});
}
