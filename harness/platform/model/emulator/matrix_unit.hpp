// Products of matrices, by a warp (mma.sync) and by four (wgmma), and ldmatrix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/platform/model/emulator/block.hpp"
#include "harness/platform/model/emulator/fragment_loads.hpp"
#include "harness/platform/model/emulator/matrices.hpp"
#include "harness/platform/model/emulator/warp_collectives.hpp"
#include "harness/platform/model/emulator/warpgroup_products.hpp"
#include "harness/platform/model/emulator/warpgroup_reads.hpp"
#include "harness/platform/model/include/warp_matrix.h"

namespace gpubench::model {

class MatrixUnit final : public WarpWork {
 public:
  MatrixUnit(Block& block, WarpCollectives& collectives, WarpgroupReads& reads)
      : block_(block), collectives_(collectives), reads_(reads) {}

  void begin_block() {
    fragments_.assign(block_.lanes().warps(), {});
    products_.assign(block_.lanes().warps(), {});
  }

  // --- from a lane ---
  void multiply(Tensor type, bool by_warpgroup, const MatrixElements& mine, const void* code);
  void load(unsigned* to, const void* row, bool transposed, const void* code);
  void multiply_shared(const SharedProduct& mine, const void* code);
  void commit_products(const void* code);
  void wait_for_products(unsigned groups_left, const void* code);

  unsigned carry_out(unsigned warp, const WarpCall* const lanes[]) override;

 private:
  struct MatrixRow {
    unsigned* to;  // the lane's part of each matrix
    const std::byte* row;
  };

  unsigned multiply_registers(unsigned warp, const WarpCall* const lanes[]);
  void require_scales(Tensor type, const WarpElements& lanes);
  void multiply_from_shared(unsigned warp, const WarpCall* const lanes[]);
  static void distribute(bool transposed, const WarpCall* const lanes[]);
  void refuse_partial_warpgroup(const char* who, unsigned lanes_together, const void* code);

  Block& block_;
  WarpCollectives& collectives_;
  WarpgroupReads& reads_;
  // By warp, as its first lane says.
  std::vector<FragmentLoads> fragments_;
  std::vector<WarpgroupProducts> products_;
};

}  // namespace gpubench::model
