#include "harness/platform/model/emulator/tensor_memory.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "harness/platform/model/emulator/host_code.hpp"
#include "harness/platform/model/emulator/matrices.hpp"
#include "harness/platform/model/emulator/shared_operands.hpp"

namespace gpubench::model {

namespace operation = warp_operation;

namespace {

constexpr unsigned column_bits = 16;
unsigned column_of(unsigned address) { return address & ((1u << column_bits) - 1); }
unsigned lane_of(unsigned address) { return address >> column_bits; }

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
std::optional<Tensor> factors_of(Tcgen05Type kind, std::uint32_t instruction) {
  if (kind == Tcgen05Type::mxfp8 || kind == Tcgen05Type::nvfp4) {
    return scaled_factors_of(kind, instruction);
  }
  const unsigned sums = instruction >> 4 & 3, a = instruction >> 7 & 7, b = instruction >> 10 & 7;
  // Sparsity, saturation, signs, transposition, shifts, and what is reserved.
  constexpr std::uint32_t others = 0xf | 1u << 6 | 0xfu << 13 | 1u << 23 | 7u << 29;
  if ((instruction & others) != 0 || a != b) return {};
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

void TensorMemory::begin_block() {
  const unsigned warps = block_.lanes().warps();
  words_.clear();
  columns_.clear();
  allocations_.clear();
  loads_.assign(warps, {});
  issuers_.assign(warps, 0);
  is_relinquished_ = false;
}

std::string TensorMemory::leftover() const {
  if (allocations_.empty()) return "";
  return "tensor memory that is not deallocated when its block ends: " +
         std::to_string(allocations_.front().columns) + " columns";
}

// --- what a whole warp does ---

void TensorMemory::take_part(int of, std::uint64_t value, const char* name, const void* code) {
  const LaneScheduler& lanes = block_.lanes();
  if (lanes.lanes_in(lanes.current_warp()) != warp_lanes) {
    const HostCode host;
    block_.fault(std::string(name) + " by a warp of fewer than 32 threads,", code);
  }
  collectives_.take_part({.operation = of, .value = value}, code, this);
}

namespace {

// What lanes say of an allocation.
struct Asked {
  std::uint64_t place;  // an address in shared memory, or what is freed
  unsigned columns;
};
struct Loaded {
  void* to;
  unsigned address;
};

}  // namespace

void TensorMemory::allocate(unsigned* place, unsigned count, const void* code) {
  const Asked mine{reinterpret_cast<std::uint64_t>(place), count};
  take_part(operation::allocate_tensor_memory, reinterpret_cast<std::uint64_t>(&mine),
            "tcgen05.alloc", code);
}
void TensorMemory::free(unsigned address, unsigned count, const void* code) {
  const Asked mine{address, count};
  take_part(operation::free_tensor_memory, reinterpret_cast<std::uint64_t>(&mine),
            "tcgen05.dealloc", code);
}
void TensorMemory::load(void* to, unsigned address, const void* code) {
  const Loaded mine{to, address};
  take_part(operation::load_tensor_memory, reinterpret_cast<std::uint64_t>(&mine), "tcgen05.ld",
            code);
}
void TensorMemory::wait(const void* code) {
  take_part(operation::wait_for_tensor_memory, 0, "tcgen05.wait::ld", code);
}

unsigned TensorMemory::carry_out(unsigned warp, const WarpCall* const lanes[]) {
  const HostCode host;
  switch (lanes[0]->operation) {
    case operation::allocate_tensor_memory:
      allocate_for(lanes);
      break;
    case operation::free_tensor_memory:
      free_for(lanes);
      break;
    case operation::load_tensor_memory:
      load_for(warp, lanes);
      break;
    default:
      deliver(warp);
  }
  return 0;
}

void TensorMemory::allocate_for(const WarpCall* const lanes[]) {
  const void* const code = code_of_warp();
  const Asked asked = *reinterpret_cast<const Asked*>(lanes[0]->value);
  for (unsigned lane = 1; lane < warp_lanes; ++lane) {
    const Asked& other = *reinterpret_cast<const Asked*>(lanes[lane]->value);
    if (other.place != asked.place || other.columns != asked.columns) {
      block_.fault("tcgen05.alloc whose lanes ask for different things,", code);
    }
  }
  const std::string what = "tcgen05.alloc of " + std::to_string(asked.columns) + " columns";
  if (!std::has_single_bit(asked.columns) || asked.columns < 32 || asked.columns > columns) {
    block_.fault(what + " (it takes powers of two from 32 to 512)", code);
  }
  if (is_relinquished_) block_.fault(what + " after tcgen05.relinquish_alloc_permit", code);
  if (!block_.shared().holds(asked.place)) {
    block_.fault(what + " whose address goes to what is not shared memory", code);
  }
  unsigned first = 0;
  for (const Allocation& other : allocations_) {
    first = std::max(first, other.first + other.columns);
  }
  if (first + asked.columns > columns) {
    block_.fault(what + ", more than this block has left: it would wait for ever", code);
  }
  is_relinquished_ = true;  // by the same call (include/tcgen05.hpp)
  if (words_.empty()) {
    words_.assign(std::size_t{rows} * columns, ~std::uint32_t{0});
    columns_.assign(columns, {});
  }
  allocations_.push_back({first, asked.columns});
  unsigned& most = block_.result().tensor_columns;
  most = std::max(most, first + asked.columns);
  block_.check_place(asked.place, sizeof(unsigned), EventKind::store, code);
  if (block_.is_traced()) {
    block_.check_order(false, asked.place, sizeof(unsigned), EventKind::store, code);
  }
  std::memcpy(reinterpret_cast<void*>(asked.place), &first, sizeof first);
}

void TensorMemory::free_for(const WarpCall* const lanes[]) {
  const void* const code = code_of_warp();
  const Asked asked = *reinterpret_cast<const Asked*>(lanes[0]->value);
  const auto found = std::ranges::find_if(allocations_, [&](const Allocation& a) {
    return a.first == asked.place && a.columns == asked.columns;
  });
  if (found == allocations_.end()) {
    block_.fault("tcgen05.dealloc of " + std::to_string(asked.columns) + " columns from column " +
                     std::to_string(asked.place) + " on, which no tcgen05.alloc has given,",
                 code);
  }
  require_known_done(found->first, found->columns, deallocation, code);
  std::fill_n(columns_.begin() + found->first, found->columns, Column{});
  allocations_.erase(found);
}

// Its registers hold nothing of use until they have been waited for.
void TensorMemory::load_for(unsigned warp, const WarpCall* const lanes[]) {
  const void* const code = code_of_warp();
  const unsigned address = reinterpret_cast<const Loaded*>(lanes[0]->value)->address;
  const unsigned first = column_of(address), quarter = warp % 4 * warp_lanes;
  if (lane_of(address) != quarter) {
    block_.fault("tcgen05.ld of lane " + std::to_string(lane_of(address)) + " and on by warp " +
                     std::to_string(warp) + ", whose lanes begin with " + std::to_string(quarter) +
                     ",",
                 code);
  }
  if (!is_allocated(first, columns_of_load)) {
    block_.fault(
        "tcgen05.ld of columns that are not allocated, from " + std::to_string(first) + " on,",
        code);
  }
  for (unsigned c = first; c < first + columns_of_load; ++c) {
    Column& column = columns_[c];
    const auto what = [&] { return "tcgen05.ld of column " + std::to_string(c); };
    if (!column.is_written) block_.fault(what() + ", which nobody has written,", code);
    if (!block_.is_traced()) continue;
    if (!is_known_written(column, warp)) {
      block_.fault("race: " + what() +
                       ", which tcgen05.mma may still be writing: no tcgen05.commit that was"
                       " waited for says otherwise,",
                   code);
    }
    column.read.resize(block_.lanes().warps());
    column.read[warp] = reading;
  }
  Load& load = loads_[warp].emplace_back();
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    const Loaded& mine = *reinterpret_cast<const Loaded*>(lanes[lane]->value);
    if (mine.address != address) {
      block_.fault("tcgen05.ld whose lanes name different addresses,", code);
    }
    load.to[lane] = mine.to;
    std::copy_n(&words_[(quarter + lane) * std::size_t{columns} + first], columns_of_load,
                load.values[lane].begin());
    std::memset(mine.to, 0xFF, sizeof load.values[lane]);
  }
}

void TensorMemory::deliver(unsigned warp) {
  for (const Load& load : loads_[warp]) {
    for (unsigned lane = 0; lane < warp_lanes; ++lane) {
      std::memcpy(load.to[lane], load.values[lane].data(), sizeof load.values[lane]);
    }
  }
  loads_[warp].clear();
  if (!block_.is_traced()) return;
  for (Column& column : columns_) {
    if (warp < column.read.size() && column.read[warp] == reading) {
      column.read[warp] = arrivals_.made_by(warp) + 1;
    }
  }
}

// --- what one lane does ---

bool TensorMemory::is_allocated(unsigned first, unsigned count) const {
  return std::ranges::any_of(allocations_, [&](const Allocation& a) {
    return first >= a.first && first + count <= a.first + a.columns;
  });
}

bool TensorMemory::is_known_written(const Column& column, unsigned to_warp) const {
  const unsigned who = arrivals_.tensor_cores_of(column.writer);
  return !column.is_written || arrivals_.known_to(to_warp)[who] >= column.written_with;
}

bool TensorMemory::is_known_read(const Column& column, unsigned to_warp) const {
  for (unsigned warp = 0; warp < column.read.size(); ++warp) {
    const std::uint32_t read = column.read[warp];
    const bool is_own = warp == to_warp && read != reading;
    if (read != 0 && !is_own && (read == reading || arrivals_.known_to(to_warp)[warp] < read)) {
      return false;
    }
  }
  return true;
}

// A race unless the current warp knows that these columns have been written and read.
void TensorMemory::require_known_done(unsigned first, unsigned count, const Taker& by,
                                      const void* code) {
  if (!block_.is_traced()) return;
  const unsigned warp = block_.lanes().current_warp();
  for (unsigned c = first; c < first + count; ++c) {
    const Column& column = columns_[c];
    const auto what = [&] {
      return std::string("race: ") + by.name + " of column " + std::to_string(c);
    };
    if (!is_known_read(column, warp)) {
      block_.fault(what() + ", which a warp may still be reading by tcgen05.ld,", code);
    }
    const bool is_in_order = by.is_in_order && column.writer == warp;
    if (!is_in_order && !is_known_written(column, warp)) {
      block_.fault(what() + ", which tcgen05.mma may still be writing,", code);
    }
  }
}

void TensorMemory::require_one_issuer(const void* code) {
  const LaneScheduler& lanes = block_.lanes();
  unsigned& issuer = issuers_[lanes.current_warp()];
  const unsigned me = lanes.current() % warp_lanes + 1;
  if (issuer != 0 && issuer != me) {
    block_.fault("tcgen05 by two threads of a warp, which the model does not know,", code);
  }
  issuer = me;
}

std::vector<const std::byte*> TensorMemory::pieces(std::uint64_t descriptor, unsigned count,
                                                   const char* by, const void* code,
                                                   unsigned in_row) {
  std::string unknown;
  const SharedMatrix matrix = SharedMatrix::of_tcgen05(descriptor, unknown);
  if (!unknown.empty()) {
    block_.fault(std::string(by) + " by the descriptor of a matrix " + unknown + ",", code);
  }
  return pieces_of(block_, {matrix, false, 0, count, in_row}, by, code,
                   [&](std::uint64_t address) { reads_.note_by_lane(address, code); });
}

void TensorMemory::multiply(const TensorProduct& mine, const void* code) {
  const HostCode host;
  const unsigned count = (mine.instruction >> 17 & 0x3f) * 8;
  const unsigned of_a = (mine.instruction >> 24 & 0x1f) * 16;
  // Products of 64 rows exist too, with another layout in tensor memory.
  if (of_a != rows || count == 0 || count > 256 || count % 16 != 0) {
    block_.fault("tcgen05.mma of " + std::to_string(of_a) + " x " + std::to_string(count) +
                     " sums, which the model does not know,",
                 code);
  }
  const std::optional<Tensor> type = factors_of(mine.type, mine.instruction);
  if (!type) {
    block_.fault(
        "tcgen05.mma by an instruction descriptor that the model does not know for its kind,",
        code);
  }
  const unsigned first = column_of(mine.d);
  if (lane_of(mine.d) != 0) block_.fault("tcgen05.mma to a lane that is not the first,", code);
  if (!is_allocated(first, count)) {
    block_.fault(
        "tcgen05.mma to columns that are not allocated, from " + std::to_string(first) + " on,",
        code);
  }
  require_one_issuer(code);
  require_known_done(first, count, product, code);
  for (unsigned c = first; c < first + count; ++c) {
    if (mine.adds && !columns_[c].is_written) {
      block_.fault(
          "tcgen05.mma that adds to column " + std::to_string(c) + ", which nobody has written,",
          code);
    }
  }
  const auto a = pieces(mine.a, rows, "tcgen05.mma", code);
  const auto b = pieces(mine.b, count, "tcgen05.mma", code);
  const auto scales_a = scales(*type, mine.scales_a, mine.instruction >> 29 & 3, rows, code);
  const auto scales_b = scales(*type, mine.scales_b, mine.instruction >> 4 & 3, count, code);
  write_columns(first, count);
  multiply_rows(*type, {a, b, count, false, scales_a, scales_b}, rows, &words_[first], columns,
                mine.adds);
  BlockResult& result = block_.result();
  ++result.warp_operations[static_cast<std::size_t>(WarpOperation::matrices)];
  result.warpgroup_flops[static_cast<std::size_t>(*type)] +=
      std::uint64_t{2} * rows * count * depth_of(*type);
}

void TensorMemory::commit(void* barrier, const void* code) {
  const HostCode host;
  // It waits for the products of its own thread alone.
  const LaneScheduler& lanes = block_.lanes();
  const bool is_issuer = issuers_[lanes.current_warp()] == lanes.current() % warp_lanes + 1;
  mbarriers_.arrive_by_tensor_cores(barrier, is_issuer, code);
}

}  // namespace gpubench::model
