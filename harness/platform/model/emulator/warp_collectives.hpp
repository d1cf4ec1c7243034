// What the lanes of a warp do together: exchanges, votes, barriers, and work on matrices.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/platform/model/emulator/block.hpp"

namespace gpubench::model {

// Operations of a warp; equal numbers are the same one. The shuffles keep their own.
namespace warp_operation {
inline constexpr int reduction = 80;  // and the Reduction
inline constexpr int match_any = 98;  // counted as votes
inline constexpr int match_all = 99;
inline constexpr int vote = 100;
inline constexpr int sync = 101;
inline constexpr int matrix_load = 102;  // and whether it transposes
inline constexpr int matrices = 104;     // and the Tensor
inline constexpr int warpgroup_matrices = matrices + static_cast<int>(tensor_types);  // likewise
inline constexpr int shared_matrices = warpgroup_matrices + static_cast<int>(tensor_types);
inline constexpr int commit_matrices = shared_matrices + 1;
inline constexpr int wait_for_matrices = commit_matrices + 1;
inline constexpr int allocate_tensor_memory = wait_for_matrices + 1;
inline constexpr int free_tensor_memory = allocate_tensor_memory + 1;
inline constexpr int load_tensor_memory = free_tensor_memory + 1;
inline constexpr int wait_for_tensor_memory = load_tensor_memory + 1;
inline constexpr int store_tensor_memory = wait_for_tensor_memory + 1;
inline constexpr int wait_for_tensor_stores = store_tensor_memory + 1;
}  // namespace warp_operation

// What a lane brings to an operation of its warp.
struct WarpCall {
  unsigned mask = ~0u;
  int operation = 0;
  std::uint64_t value = 0;
  unsigned argument = 0;
  int width = static_cast<int>(warp_lanes);
};

// Who carries out what takes a whole warp.
class WarpWork {
 public:
  virtual ~WarpWork() = default;
  // `lanes`: what each of the 32 brings. Returns how many instructions these are.
  virtual unsigned carry_out(unsigned warp, const WarpCall* const lanes[]) = 0;
};

class WarpCollectives {
 public:
  explicit WarpCollectives(Block& block) : block_(block) {}

  void begin_block();
  // A lane of `warp` has ended: those that waited for nobody else go on.
  void lane_ended(unsigned warp);

  // --- from a lane ---
  // Waits until every lane of the mask has arrived or ended; the last one resolves for all. `work`:
  // of operations on matrices. Returns the lane's answer.
  std::uint64_t take_part(WarpCall call, const void* code, WarpWork* work = nullptr);

 private:
  struct Taking {
    WarpCall call;
    WarpWork* work = nullptr;
    std::uint64_t answer = 0;
    bool lacks_ended = false;  // it needs what a lane that has ended would have given
  };

  bool has_arrived(unsigned warp, unsigned mask, int operation) const;
  void resolve(unsigned warp, unsigned mask);
  std::uint64_t work_on_matrices(unsigned warp, const Taking& first);
  // A lane's answer from a match or a reduction.
  static std::uint64_t combined(const Taking* lanes, int lane, unsigned present);
  void exchange(Taking* lanes, int lane, unsigned mask, unsigned present);

  Block& block_;
  std::vector<Taking> lanes_;
  std::vector<std::uint32_t> waiting_;  // for their warp: a bit a lane, a word a warp
};

}  // namespace gpubench::model
