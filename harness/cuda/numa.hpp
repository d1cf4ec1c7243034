// Host memory on a NUMA node of one's choice, pinned for the device.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace gpubench {

// The nodes of this machine that have memory, ascending; {0} where the kernel does not say.
std::vector<int> numa_nodes();

// "0-1,4" as Linux lists nodes; empty when it is no such list.
std::vector<int> parse_node_list(const std::string& text);

// `bytes` bytes, page-locked and touched. With a node, on that node alone: UsageError, one line,
// where the kernel refuses or the memory lies elsewhere all the same.
class NodeMemory {
 public:
  NodeMemory(std::size_t bytes, std::optional<int> node);
  ~NodeMemory();
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

}  // namespace gpubench
