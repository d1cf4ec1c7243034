// Matrices in shared memory as the descriptors of wgmma and tcgen05.mma describe them.
#pragma once

#include <cstdint>
#include <string>

namespace gpubench::model {

// Where a matrix lies in shared memory, by its descriptor's 64 bits as the PTX ISA lays them out
// ("Matrix Descriptor Format", "Strides", "Shared Memory Matrix Layout", for rows along k).
struct SharedMatrix {
  std::uint32_t start = 0;  // [bytes], the lowest 18 bits of the address
  std::uint32_t leading = 0, stride = 0;
  unsigned base_offset = 0;
  unsigned swizzle = 0;  // 0: none, 1: of 128 bytes, 2: of 64, 3: of 32

  explicit SharedMatrix(std::uint64_t descriptor);
  // From a descriptor for tcgen05.mma, whose swizzles have other numbers. `unknown` gets what the
  // model does not know of it, or stays "".
  static SharedMatrix of_tcgen05(std::uint64_t descriptor, std::string& unknown);
  // How far from an address of shared memory in whose bits the start's are, 16-byte piece `piece`
  // of row `row` lies, before the swizzle.
  std::uint32_t offset(unsigned row, unsigned piece) const;
  // The same for a matrix whose columns lie along k: piece `piece` of what it has at `k`. Only of
  // swizzled ones.
  std::uint32_t transposed_offset(unsigned k, unsigned piece) const;
};
// Where what would lie at `address` lies in rows that are swizzled so.
std::uint64_t swizzled(std::uint64_t address, unsigned swizzle);

}  // namespace gpubench::model
