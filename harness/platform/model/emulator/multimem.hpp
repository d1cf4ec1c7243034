// What the lanes of a block do at multicast addresses: each is the same place in the memory of
// every device of a team (PTX ISA, "multimem.ld_reduce, multimem.st, multimem.red").
#pragma once

#include <vector>

#include "harness/platform/model/emulator/block.hpp"
#include "harness/platform/model/include/multimem.hpp"

namespace gpubench::model {

class Multimem {
 public:
  Multimem(Block& block, DeviceMemory& memory) : block_(block), memory_(memory) {}

  void load_sum(Summand type, const void* at, void* to, const void* code);
  void store(void* at, const void* from, const void* code);
  void add(Summand type, void* at, const void* from, const void* code);

 private:
  // The places that the address reaches, in the order of the devices. A fault where there is none.
  std::vector<std::byte*> reached(const void* at, EventKind kind, const char* name,
                                  const void* code);

  Block& block_;
  DeviceMemory& memory_;
};

}  // namespace gpubench::model
