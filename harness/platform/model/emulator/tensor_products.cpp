// The products of tcgen05.mma: which they are, what they read and write, and the commits behind
// them.
#include <bit>
#include <optional>

#include "harness/platform/model/emulator/host_code.hpp"
#include "harness/platform/model/emulator/matrices.hpp"
#include "harness/platform/model/emulator/shared_operands.hpp"
#include "harness/platform/model/emulator/tensor_memory.hpp"

namespace gpubench::model {
namespace {

// What factors are by a product's kind and its instruction descriptor; nothing of one that the
// model does not know.
std::optional<Tensor> scaled_factors_of(Tcgen05Type kind, std::uint32_t instruction) {
  const unsigned a = instruction >> 7 & 7, b = instruction >> 10 & 7;
  const bool powers = (instruction >> 23 & 1) != 0;
  // Sparsity, signs, transposition, products that are longer along k, and what is reserved.
  constexpr std::uint32_t others = 0xf | 1u << 6 | 0xfu << 13 | 1u << 31;
  constexpr std::uint32_t bytes = 3u << 4 | 3u << 29;
  if ((instruction & others) != 0 || a != b) return {};
  if (kind == Tcgen05Type::mxfp8 && a == 0 && powers) return Tensor::mxfp8;
  const bool all_bytes = (instruction & bytes) == 0;
  if (kind == Tcgen05Type::nvfp4 && a == 1 && !powers && all_bytes) return Tensor::nvfp4;
  return {};
}
bool is_transposed_b(std::uint32_t instruction) { return (instruction >> 16 & 1) != 0; }
std::optional<Tensor> factors_of(Tcgen05Type kind, std::uint32_t instruction) {
  if (kind == Tcgen05Type::mxfp8 || kind == Tcgen05Type::nvfp4) {
    return scaled_factors_of(kind, instruction);
  }
  const unsigned sums = instruction >> 4 & 3, a = instruction >> 7 & 7, b = instruction >> 10 & 7;
  // Sparsity, saturation, signs, a transposed a, shifts, and what is reserved.
  constexpr std::uint32_t others = 0xf | 1u << 6 | 7u << 13 | 1u << 23 | 7u << 29;
  if ((instruction & others) != 0 || a != b) return {};
  const bool is_16_bit = kind == Tcgen05Type::fp16 || kind == Tcgen05Type::bf16;
  if (is_transposed_b(instruction) && !is_16_bit) return {};
  const auto if_so = [](bool is_so, Tensor type) {
    return is_so ? std::optional(type) : std::nullopt;
  };
  switch (kind) {
    case Tcgen05Type::tf32:
      return if_so(sums == 1 && a == 2, Tensor::tf32);
    case Tcgen05Type::fp8:
      return if_so(sums == 1 && a == 0, Tensor::fp8);
    case Tcgen05Type::int8:
      return if_so(sums == 2 && a == 1, Tensor::int8);
    default:
      return if_so(sums == 1 && a <= 1, a == 0 ? Tensor::fp16 : Tensor::bf16);
  }
}

}  // namespace

// --- who asks, and for what ---

bool TensorMemory::is_issuer() const {
  const LaneScheduler& lanes = block_.lanes();
  return issuers_[lanes.current_warp()] == lanes.current() % warp_lanes + 1;
}

void TensorMemory::require_one_issuer(const void* code) {
  const LaneScheduler& lanes = block_.lanes();
  unsigned& issuer = issuers_[lanes.current_warp()];
  if (issuer != 0 && !is_issuer()) {
    block_.fault("tcgen05 by two threads of a warp, which the model does not know,", code);
  }
  issuer = lanes.current() % warp_lanes + 1;
}

// The PTX ISA has a thread of either block ask; every kernel that is known has one of the even
// block do so, and what the odd one's descriptors would mean is not said.
void TensorMemory::require_even_block(const char* what, const void* code) {
  if (block_.cluster().number % 2 != 0) {
    block_.fault(std::string(what) + " of cta_group::2 by the odd block of its pair,", code);
  }
  if (!peer_->block_.lanes().has_live_lanes()) {
    block_.fault(std::string(what) + " of cta_group::2 whose other block has ended,", code);
  }
}

std::vector<TensorMemory*> TensorMemory::blocks_of(CtaGroup group) {
  return group == CtaGroup::pair ? std::vector{this, peer_} : std::vector{this};
}

const char* TensorMemory::whose(const TensorMemory& asks) const {
  return this == &asks ? "" : " of the other block of the pair";
}

void TensorMemory::require_place(const TensorMemory& in, unsigned first, unsigned count, bool adds,
                                 const void* code) {
  if (!in.is_allocated(first, count)) {
    block_.fault("tcgen05.mma to columns that are not allocated, from " + std::to_string(first) +
                     " on" + in.whose(*this) + ",",
                 code);
  }
  require_known_done(in, first, count, product, code);
  for (unsigned c = first; c < first + count; ++c) {
    if (adds && !in.columns_[c].is_written()) {
      block_.fault("tcgen05.mma that adds to column " + std::to_string(c) + in.whose(*this) +
                       ", which nobody has written,",
                   code);
    }
  }
}

// --- what is read and written ---

std::vector<const std::byte*> TensorMemory::pieces(TensorMemory& in, const Operand& of,
                                                   const char* by, const void* code) {
  std::string unknown;
  const SharedMatrix matrix = SharedMatrix::of_tcgen05(of.descriptor, unknown);
  if (!unknown.empty()) {
    block_.fault(std::string(by) + " by the descriptor of a matrix " + unknown + ",", code);
  }
  const SharedRows rows_of{matrix, of.is_transposed, 0, of.rows, of.in_row};
  if (&in == this) {
    return pieces_of(block_, rows_of, by, code,
                     [&](std::uint64_t address) { reads_.note_by_lane(address, code); });
  }
  // The same place there, where dynamic shared memory begins at the same of 1024 bytes.
  const std::uint64_t away = in.block_.shared().dynamic_begin() - block_.shared().dynamic_begin();
  auto found = pieces_of(block_, rows_of, by, code, [&](std::uint64_t address) {
    note_read_by_pair(address + away, by, code);
  });
  for (const std::byte*& piece : found) {
    piece = reinterpret_cast<const std::byte*>(reinterpret_cast<std::uint64_t>(piece) + away);
  }
  return found;
}

// The current thread has the Tensor Cores read 16 bytes of the other block's shared memory.
void TensorMemory::note_read_by_pair(std::uint64_t address, const char* by, const void* code) {
  Block& there = peer_->block_;
  const std::uint64_t word = there.shared().offset_of(address) / 4;
  if (there.recorder().checker().is_under_way(word)) {
    AsyncCopy& copy = there.copies()[there.copies().into_word(word)];
    if (!copy.is_seen_in_pair(block_.lanes().current())) {
      block_.fault(std::string(by) +
                       " of what an asynchronous copy brings to the other block of the pair, which"
                       " this thread has not waited for,",
                   code);
    }
    peer_->reads_.note_in(copy, arrivals_.tensor_cores_of(block_.lanes().current_warp()));
    return;
  }
  const unsigned rank = block_.cluster().number;
  const std::string wrong =
      block_.cluster().memory->note_remote(rank, rank ^ 1, address, 16, EventKind::load, code);
  if (!wrong.empty()) block_.fault(wrong, code);
}

// From now on what the current warp's Tensor Cores write there is what its commits wait for.
void TensorMemory::write_columns(TensorMemory& in, unsigned first, unsigned count) {
  const unsigned cores = arrivals_.tensor_cores_of(block_.lanes().current_warp());
  for (unsigned c = first; c < first + count; ++c) {
    in.columns_[c] = {.quarters_written = (1u << quarters) - 1,
                      .written = {cores, arrivals_.made_by(cores) + 1}};
  }
}

// A factor in tensor memory: row i is lane i, two 16-bit elements in a column.
std::vector<const std::byte*> TensorMemory::pieces_in_columns(unsigned address, const void* code) {
  constexpr unsigned count = 8, piece = 4;  // columns
  const unsigned first = address & 0xffff;
  if (address >> 16 != 0)
    block_.fault("tcgen05.mma of an a in a lane that is not the first,", code);
  if (!is_allocated(first, count)) {
    block_.fault("tcgen05.mma of an a in columns that are not allocated, from " +
                     std::to_string(first) + " on,",
                 code);
  }
  const unsigned warp = block_.lanes().current_warp(), cores = arrivals_.tensor_cores_of(warp);
  for (unsigned c = first; c < first + count; ++c) {
    Column& column = columns_[c];
    const auto what = [&] { return "tcgen05.mma of an a in column " + std::to_string(c); };
    if (!column.is_written()) block_.fault(what() + ", which nobody has written,", code);
    if (!block_.is_traced()) continue;
    const Arrivals::Known& known = arrivals_.known_to(warp);
    if (!is_known(column.stored, arrivals_.number_of(warp), known)) {
      block_.fault("race: " + what() + ", which a warp may still be writing by tcgen05.st,", code);
    }
    if (column.written.who != cores && !is_known(column.written, known)) {
      block_.fault("race: " + what() + ", which another warp's may still be writing,", code);
    }
    column.multiplied = {cores, arrivals_.made_by(cores) + 1};
  }
  std::vector<const std::byte*> found;
  for (unsigned row = 0; row < rows; ++row) {
    for (unsigned c = first; c < first + count; c += piece) {
      found.push_back(reinterpret_cast<const std::byte*>(&words_[row * std::size_t{columns} + c]));
    }
  }
  return found;
}

std::vector<const std::byte*> TensorMemory::pieces_of_a(TensorMemory& in, const TensorProduct& mine,
                                                        const void* code) {
  if (!mine.a_is_in_columns) return pieces(in, {mine.a, rows}, "tcgen05.mma", code);
  return pieces_in_columns(static_cast<unsigned>(mine.a), code);
}

void TensorMemory::multiply(const TensorProduct& mine, const void* code) {
  const HostCode host;
  fences_.use(false, code);
  require_group(mine.group, "tcgen05.mma", code);
  const bool is_pair = mine.group == CtaGroup::pair;
  const std::vector<TensorMemory*> in = blocks_of(mine.group);
  const auto blocks = static_cast<unsigned>(in.size());
  const unsigned count = (mine.instruction >> 17 & 0x3f) * 8;
  const unsigned of_a = (mine.instruction >> 24 & 0x1f) * 16;
  // Products of half as many rows exist too, with another layout in tensor memory.
  if (of_a != blocks * rows || count == 0 || count > 256 || count % (blocks * 16) != 0) {
    block_.fault("tcgen05.mma of " + std::to_string(of_a) + " x " + std::to_string(count) +
                     " sums" + (is_pair ? " by a pair" : "") + ", which the model does not know,",
                 code);
  }
  const std::optional<Tensor> type = factors_of(mine.type, mine.instruction);
  if (!type) {
    block_.fault(
        "tcgen05.mma by an instruction descriptor that the model does not know for its kind,",
        code);
  }
  const unsigned first = mine.d & 0xffff;
  if (mine.d >> 16 != 0) block_.fault("tcgen05.mma to a lane that is not the first,", code);
  if (is_pair) require_even_block("tcgen05.mma", code);
  require_one_issuer(code);
  const bool is_across = is_transposed_b(mine.instruction) && scaled_together(*type) == 0;
  if (is_pair && (is_across || mine.a_is_in_columns)) {
    block_.fault(
        "tcgen05.mma by a pair of an operand across k or in tensor memory, which the model does"
        " not know,",
        code);
  }
  const unsigned of_b = count / blocks;
  const Operand b_there =
      is_across ? Operand{mine.b, depth_of(*type), of_b / 8, true} : Operand{mine.b, of_b};
  std::vector<std::vector<const std::byte*>> a;
  std::vector<std::vector<double>> scales_a, scales_b;
  std::vector<const std::byte*> b;
  for (TensorMemory* const block : in) {
    require_place(*block, first, count, mine.adds, code);
    a.push_back(pieces_of_a(*block, mine, code));
    const auto columns_there = pieces(*block, b_there, "tcgen05.mma", code);
    b.insert(b.end(), columns_there.begin(), columns_there.end());
    const unsigned byte_a = mine.instruction >> 29 & 3, byte_b = mine.instruction >> 4 & 3;
    scales_a.push_back(scales(*block, *type, mine.scales_a, byte_a, rows, code));
    scales_b.push_back(scales(*block, *type, mine.scales_b, byte_b, count, code));
  }
  ++block_.result().warp_operations[static_cast<std::size_t>(WarpOperation::matrices)];
  for (unsigned i = 0; i < blocks; ++i) {
    write_columns(*in[i], first, count);
    multiply_rows(*type, {a[i], b, count, is_across, scales_a[i], scales_b[i]}, rows,
                  &in[i]->words_[first], columns, mine.adds);
    // Each SM's Tensor Cores make their own rows.
    in[i]->block_.result().warpgroup_flops[static_cast<std::size_t>(*type)] +=
        std::uint64_t{2} * rows * count * depth_of(*type);
  }
}

// --- commits, which wait for the products of their own thread alone ---

void TensorMemory::commit(void* barrier, CtaGroup group, const void* code) {
  const HostCode host;
  require_group(group, "tcgen05.commit", code);
  mbarriers_.arrive_by_tensor_cores(barrier, is_issuer(), code);
}

void TensorMemory::commit_to(std::uint16_t ranks, void* barrier, const void* code) {
  const HostCode host;
  require_group(CtaGroup::pair, "tcgen05.commit", code);
  const unsigned rank = block_.cluster().number % block_.launch().cluster,
                 of_pair = 3u << (rank & ~1u);
  if (ranks == 0) block_.fault("tcgen05.commit to no block,", code);
  if ((ranks & ~of_pair) != 0) {
    block_.fault("tcgen05.commit to blocks beyond its pair, which the model does not know,", code);
  }
  if ((ranks >> rank & 1) != 0) mbarriers_.arrive_by_tensor_cores(barrier, is_issuer(), code);
  if ((ranks >> (rank ^ 1) & 1) == 0) return;
  const unsigned cores = arrivals_.tensor_cores_of(block_.lanes().current_warp());
  mbarriers_.arrive_at_peers(barrier, is_issuer() ? std::optional(cores) : std::nullopt,
                             "tcgen05.commit to", code);
}

}  // namespace gpubench::model
