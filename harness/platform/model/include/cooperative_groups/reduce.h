// cg::reduce over a tile: a butterfly of shuffles, log2(size) of them. (From sm_80 on, CUDA's own
// takes one instruction for 32-bit integers.)
#pragma once

#include "harness/platform/model/include/cooperative_groups.h"

namespace cooperative_groups {

template <class T>
struct plus {
  __forceinline__ T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct less {  // the smaller of the two
  __forceinline__ T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T>
struct greater {
  __forceinline__ T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T>
struct bit_and {
  __forceinline__ T operator()(T a, T b) const { return a & b; }
};
template <class T>
struct bit_or {
  __forceinline__ T operator()(T a, T b) const { return a | b; }
};
template <class T>
struct bit_xor {
  __forceinline__ T operator()(T a, T b) const { return a ^ b; }
};

// All of the tile's threads get the result.
template <unsigned Size, class Parent, class T, class Operation>
__forceinline__ T reduce(const thread_block_tile<Size, Parent>& tile, T value,
                         Operation operation) {
  for (unsigned bits = Size / 2; bits > 0; bits /= 2) {
    value = operation(value, tile.shfl_xor(value, bits));
  }
  return value;
}

}  // namespace cooperative_groups
