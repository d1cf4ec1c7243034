// Matrices in shared memory that the Tensor Cores read by themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/platform/model/emulator/block.hpp"
#include "harness/platform/model/emulator/shared_matrix.hpp"

namespace gpubench::model {

// `rows` rows from `first` on, of `row_pieces` times 16 bytes each. In a transposed matrix a row is
// what it has at one k.
struct SharedRows {
  SharedMatrix matrix;
  bool is_transposed = false;
  unsigned first, rows, row_pieces;
};

// The 16-byte pieces of these rows in order, each of which `note` is told. `who` reads them, for a
// fault: "wgmma".
template <class Note>
std::vector<const std::byte*> pieces_of(Block& block, const SharedRows& of, const std::string& who,
                                        const void* code, Note&& note) {
  // The descriptor has the lowest 18 bits of the address, and all of shared memory is less.
  constexpr std::uint64_t reach = 0x40000;
  const std::uint64_t begin = block.shared().dynamic_begin();
  const std::uint64_t end = begin + block.shared().dynamic_bytes();
  const SharedMatrix& matrix = of.matrix;
  if (matrix.base_offset != 0) {
    block.fault(who + " from a matrix with a base offset, which the model does not know,", code);
  }
  if (of.is_transposed && matrix.swizzle == 0) {
    block.fault(who + " from a transposed matrix without a swizzle, which the model does not know,",
                code);
  }
  std::uint64_t start = (begin & ~(reach - 1)) | matrix.start;
  if (start < begin) start += reach;
  std::vector<const std::byte*> pieces;
  pieces.reserve(std::size_t{of.row_pieces} * of.rows);
  for (unsigned row = of.first; row < of.first + of.rows; ++row) {
    for (unsigned piece = 0; piece < of.row_pieces; ++piece) {
      const std::uint32_t offset =
          of.is_transposed ? matrix.transposed_offset(row, piece) : matrix.offset(row, piece);
      const std::uint64_t at = swizzled(start + offset, matrix.swizzle);
      if (at < begin || at + 16 > end) {
        block.fault(who + " from beyond the dynamic shared memory,", code);
      }
      if (block.is_traced()) note(at);
      pieces.push_back(reinterpret_cast<const std::byte*>(at));
    }
  }
  return pieces;
}

}  // namespace gpubench::model
