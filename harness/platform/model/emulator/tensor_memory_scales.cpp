// Block scales in tensor memory: how they get there, and which of them a product takes.
#include <cstring>

#include "harness/platform/model/emulator/host_code.hpp"
#include "harness/platform/model/emulator/matrices.hpp"
#include "harness/platform/model/emulator/tensor_memory.hpp"

namespace gpubench::model {

// tcgen05.cp of 32x128b.warpx4. In a pair each block gets what it has itself at that place.
void TensorMemory::copy(unsigned address, std::uint64_t descriptor, CtaGroup group,
                        const void* code) {
  const HostCode host;
  fences_.use(false, code);
  require_group(group, "tcgen05.cp", code);
  constexpr unsigned count = 4, words = 4, quarter = warp_lanes;
  const unsigned first = address & 0xffff;
  if (address >> 16 != 0) block_.fault("tcgen05.cp to a lane that is not the first,", code);
  if (group == CtaGroup::pair) require_even_block("tcgen05.cp", code);
  require_one_issuer(code);
  for (TensorMemory* const in : blocks_of(group)) {
    if (!in->is_allocated(first, count)) {
      block_.fault("tcgen05.cp to columns that are not allocated, from " + std::to_string(first) +
                       " on" + in->whose(*this) + ",",
                   code);
    }
    require_known_done(*in, first, count, scale_copy, code);
    const auto from = pieces(*in, {descriptor, quarter, 1}, "tcgen05.cp", code);
    write_columns(*in, first, count);
    for (unsigned lane = 0; lane < rows; ++lane) {
      std::memcpy(&in->words_[std::size_t{lane} * columns + first], from[lane % quarter],
                  words * sizeof words_[0]);
    }
  }
}

// For so many rows or columns; none for a type without scales.
std::vector<double> TensorMemory::scales(const TensorMemory& in, Tensor type, unsigned address,
                                         unsigned byte, unsigned count, const void* code) {
  const unsigned together = scaled_together(type);
  if (together == 0) return {};
  const unsigned first = address & 0xffff, held = (count + warp_lanes - 1) / warp_lanes;
  if (address >> 16 != 0 || !in.is_allocated(first, held)) {
    block_.fault("tcgen05.mma by scales in columns that are not allocated, from " +
                     std::to_string(first) + " on" + in.whose(*this) + ",",
                 code);
  }
  const unsigned warp = block_.lanes().current_warp();
  const unsigned cores = arrivals_.tensor_cores_of(warp);
  for (unsigned c = first; c < first + held; ++c) {
    const auto what = [&] {
      return "tcgen05.mma by scales in column " + std::to_string(c) + in.whose(*this);
    };
    const Column& column = in.columns_[c];
    if (!column.is_written()) block_.fault(what() + ", which nobody has written,", code);
    if (!block_.is_traced() || column.written.who == cores) continue;
    if (!is_known(column.written, arrivals_.known_to(warp))) {
      block_.fault("race: " + what() + ", which another warp may still be writing,", code);
    }
  }
  const unsigned blocks = depth_of(type) / together;
  std::vector<double> values;
  for (unsigned row = 0; row < count; ++row) {
    const std::size_t at = row % warp_lanes * std::size_t{columns} + first + row / warp_lanes;
    for (unsigned block = 0; block < blocks; ++block) {
      values.push_back(scale_value(type, in.words_[at] >> 8 * (byte + block) & 0xff));
    }
  }
  return values;
}

}  // namespace gpubench::model
