// Bulk copies that land in several blocks of a cluster, right and with one mistake each.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <span>

namespace gpubench::kernels {

// Block `from` of each cluster copies 64 words of its own of `in` to the blocks of `ranks`; out[64
// * block + i]: what word i of a block's shared memory is then, or 0 if the block is not one of
// these.
void hand_out(unsigned cluster, unsigned blocks, unsigned from, unsigned ranks, const unsigned* in,
              unsigned* out);

// The same of a box of 8 rows of 128 bytes of a matrix that is `columns` wide and 64 rows high, and
// to all blocks of a cluster of two; out: the boxes, as they lie in shared memory.
inline constexpr unsigned handed_box_bytes = 8 * 128;
void hand_out_box(unsigned char* out, const __nv_bfloat16* matrix, unsigned columns, unsigned row,
                  unsigned column);

struct MulticastMistake {
  const char* name;
  // Two blocks; `fixed`: without the mistake. `in`: 64 words.
  void (*launch)(const unsigned* in, unsigned* out, bool fixed);
  const char* says;  // part of the diagnostic
};
std::span<const MulticastMistake> multicast_mistakes();

}  // namespace gpubench::kernels
