#include "harness/cuda/numa.hpp"

#include <cuda_runtime.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <fstream>
#include <new>

#include "harness/cuda/check.hpp"
#include "harness/system/error.hpp"

namespace gpubench {
namespace {

// The system calls themselves: libnuma is one more library to have.
void bind(void* memory, std::size_t bytes, int node) {
  constexpr int bits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> nodes(static_cast<std::size_t>(node / bits + 1));
  nodes.back() = 1ul << node % bits;
  // The kernel reads one bit less than it is told.
  if (syscall(SYS_mbind, memory, bytes, MPOL_BIND, nodes.data(), nodes.size() * bits + 1,
              MPOL_MF_STRICT) != 0) {
    throw UsageError("cannot bind memory to NUMA node " + std::to_string(node) + ": " +
                     system_reason());
  }
}

void check_node(const void* memory, int node) {
  int found = -1;
  if (syscall(SYS_get_mempolicy, &found, nullptr, 0, memory, MPOL_F_NODE | MPOL_F_ADDR) == 0 &&
      found != node) {
    throw UsageError("memory bound to NUMA node " + std::to_string(node) + " lies on node " +
                     std::to_string(found));
  }
}

}  // namespace

std::vector<int> parse_node_list(const std::string& text) {
  std::vector<int> nodes;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    int first = 0;
    auto read = std::from_chars(at, end, first);
    if (read.ec != std::errc()) return {};
    int last = first;
    if (read.ptr != end && *read.ptr == '-') {
      read = std::from_chars(read.ptr + 1, end, last);
      if (read.ec != std::errc() || last < first) return {};
    }
    for (int node = first; node <= last; ++node) nodes.push_back(node);
    at = read.ptr;
    if (at != end && *at++ != ',') return {};
  }
  return nodes;
}

std::vector<int> numa_nodes() {
  std::string list;
  std::getline(std::ifstream("/sys/devices/system/node/has_memory"), list);
  const std::vector<int> nodes = parse_node_list(list);
  return nodes.empty() ? std::vector<int>{0} : nodes;
}

NodeMemory::NodeMemory(std::size_t bytes, std::optional<int> node) : bytes_(bytes) {
  data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data_ == MAP_FAILED) throw std::bad_alloc();
  try {
    if (node) bind(data_, bytes, *node);
    std::memset(data_, 0, bytes);  // pages get their place when they are touched
    if (node) check_node(data_, *node);
    CUDA_CHECK(cudaHostRegister(data_, bytes, cudaHostRegisterDefault));
  } catch (...) {
    munmap(data_, bytes);
    throw;
  }
}

NodeMemory::~NodeMemory() {
  static_cast<void>(cudaHostUnregister(data_));
  munmap(data_, bytes_);
}

}  // namespace gpubench
