#include "harness/platform/model/emulator/shared_matrix.hpp"

namespace gpubench::model {

SharedMatrix::SharedMatrix(std::uint64_t descriptor) {
  // Bits 13-0, 29-16, 45-32: an address or a distance without its lowest four bits; 51-49: the base
  // offset; 63-62: the swizzling mode.
  const auto field = [&](unsigned lowest) {
    return static_cast<std::uint32_t>(descriptor >> lowest & 0x3fff) << 4;
  };
  start = field(0);
  leading = field(16);
  stride = field(32);
  base_offset = static_cast<unsigned>(descriptor >> 49 & 7);
  swizzle = static_cast<unsigned>(descriptor >> 62);
}

SharedMatrix SharedMatrix::of_tcgen05(std::uint64_t descriptor, std::string& unknown) {
  // Bits 48-46: 1; 52: whether the leading distance is an address; 60-53: 0; 63-61: the swizzling
  // mode, of which the odd ones are not for all types, or nobody's.
  constexpr std::uint64_t low_fields = (std::uint64_t{1} << 46) - 1;
  SharedMatrix matrix(descriptor & low_fields);
  matrix.base_offset = static_cast<unsigned>(descriptor >> 49 & 7);
  const auto mode = static_cast<unsigned>(descriptor >> 61);
  matrix.swizzle = mode / 2;
  if ((descriptor >> 46 & 7) != 1 || (descriptor >> 53 & 0xff) != 0) {
    unknown = "whose constant bits are others";
  } else if ((descriptor >> 52 & 1) != 0 || mode % 2 != 0) {
    unknown = "of a mode that the model does not know";
  }
  return matrix;
}

std::uint32_t SharedMatrix::offset(unsigned row, unsigned piece) const {
  // Core matrices of eight rows of 16 bytes. Without a swizzle they are compact, and the next one
  // along k is `leading` on; with one, rows are as long as its span, and hold their pieces in
  // order.
  constexpr std::uint32_t piece_bytes = 16;
  const std::uint32_t row_bytes = swizzle == 0 ? piece_bytes : 256u >> swizzle;
  const std::uint32_t along_k = swizzle == 0 ? leading : piece_bytes;
  return row / 8 * stride + row % 8 * row_bytes + piece * along_k;
}

std::uint32_t SharedMatrix::transposed_offset(unsigned k, unsigned piece) const {
  // Eight k of as many pieces as the swizzle spans; the next eight k are `stride` on, the next
  // pieces `leading`.
  constexpr std::uint32_t piece_bytes = 16;
  const std::uint32_t span = 256u >> swizzle, in_span = span / piece_bytes;
  return piece / in_span * leading + k / 8 * stride + k % 8 * span + piece % in_span * piece_bytes;
}

std::uint64_t swizzled(std::uint64_t address, unsigned swizzle) {
  // 128 bytes: bits 4-6 of the address change by its bits 7-9; 64: 4-5 by 7-8; 32: 4 by 7.
  if (swizzle == 0) return address;
  const std::uint64_t mask = (std::uint64_t{1} << (4 - swizzle)) - 1;
  return address ^ (address >> 7 & mask) << 4;
}

}  // namespace gpubench::model
