// Copies into shared memory that a thread starts and waits for by itself, in groups (cp.async).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/platform/model/emulator/block.hpp"

namespace gpubench::model {

class ThreadCopies {
 public:
  explicit ThreadCopies(Block& block) : block_(block) {}

  void begin_block() { lanes_.assign(block_.lanes().lanes(), Groups{}); }

  // --- from a lane ---
  void copy(void* to_shared, const void* from_global, std::size_t bytes, std::size_t zeros,
            const void* code);
  void commit();
  void wait(std::size_t groups_left, const void* code);

 private:
  struct Groups {
    bool has_open_copies = false;  // that no group was committed for
    std::uint64_t holding = 0;     // committed, the last one lowest; a bit says it holds copies
    std::uint32_t commits = 0;
    std::uint32_t fmas_at_commit = 0;
  };

  void end_copies(std::size_t groups_left, const void* code);

  Block& block_;
  std::vector<Groups> lanes_;
};

}  // namespace gpubench::model
