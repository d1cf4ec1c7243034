// PTX ISA, "TensorCore 5th Generation Family Instructions": "Tensor Memory", "Matrices and data
// paths", "Shared memory descriptor" and "Canonical layouts" of matrices along k.
#include "harness/platform/model/ptx/tensor_memory.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <string>

#include "harness/platform/model/ptx/block.hpp"
#include "harness/platform/model/ptx/cluster.hpp"
#include "harness/platform/model/ptx/handlers.hpp"
#include "harness/platform/model/ptx/matrix_elements.hpp"

namespace gpubench::model::ptx {
namespace {

constexpr unsigned k_bytes = 32, piece_bytes = 16, core_rows = 8;
constexpr unsigned quarter = lanes;

struct Descriptor {
  std::uint64_t start, leading, stride, span;
  explicit Descriptor(std::uint64_t bits)
      : start((bits & 0x3fff) << 4),
        leading((bits >> 16 & 0x3fff) << 4),
        stride((bits >> 32 & 0x3fff) << 4) {
    if ((bits >> 46 & 7) != 1 || (bits >> 53 & 0xff) != 0) {
      throw Fault{"a matrix descriptor for tcgen05 without its constant bits", 0};
    }
    if ((bits >> 49 & 7) != 0) throw Fault{"a matrix descriptor with a base offset", 0};
    if ((bits >> 52 & 1) != 0) throw Fault{"a matrix descriptor with an absolute distance", 0};
    switch (bits >> 61) {
      case 0:
        span = 0;
        break;
      case 2:
        span = 128;
        break;
      case 4:
        span = 64;
        break;
      case 6:
        span = 32;
        break;
      default:
        throw Fault{"a matrix descriptor of swizzling mode " + std::to_string(bits >> 61), 0};
    }
  }
  // Where 16-byte piece `piece` of row `row` lies.
  std::uint64_t place(unsigned row, unsigned piece) const {
    const std::uint64_t group = start + row / core_rows * stride;
    if (span == 0) return group + piece * leading + row % core_rows * piece_bytes;
    const std::uint64_t straight = group + row % core_rows * span + piece * piece_bytes;
    return swizzled(straight);
  }
  // The same in a matrix whose rows lie across k, of what it has at `k`: eight k of a span each,
  // the next eight `stride` on, the next span `leading`.
  std::uint64_t place_across(unsigned k, unsigned piece) const {
    if (span == 0) throw Fault{"a matrix across k without a swizzle", 0};
    const auto in_span = static_cast<unsigned>(span / piece_bytes);
    return swizzled(start + piece / in_span * leading + k / core_rows * stride +
                    k % core_rows * span + piece % in_span * piece_bytes);
  }
  // Bits 4 and up change by those from 7 on, as many as number the pieces of the span.
  std::uint64_t swizzled(std::uint64_t straight) const {
    return straight ^ ((straight >> 7 & (span / piece_bytes - 1)) << 4);
  }
};

}  // namespace

void TensorUnit::begin() {
  words_.clear();
  allocations_.clear();
  asked_.clear();
  is_relinquished_ = false;
  group_ = 0;
  meetings_.clear();
  meeting_warp_.reset();
}

std::string TensorUnit::leftover() const {
  return allocations_.empty() ? "" : "tensor memory that is still allocated when its block ends";
}

std::uint32_t TensorUnit::allocate(unsigned count) {
  if (!std::has_single_bit(count) || count < 32 || count > columns) {
    throw Fault{
        "tcgen05.alloc of " + std::to_string(count) + " columns, not a power of two from 32 to 512",
        0};
  }
  if (is_relinquished_) throw Fault{"tcgen05.alloc after its permit was relinquished", 0};
  if (words_.empty()) {
    words_.resize(std::size_t{rows} * columns);
    written_.assign(columns, 0);
  }
  unsigned first = 0;
  for (const Allocation& a : allocations_) first = std::max(first, a.first + a.count);
  if (first + count > columns) {
    throw Fault{"tcgen05.alloc of more columns than its block leaves: it would never end", 0};
  }
  allocations_.push_back({first, count});
  block_.result.tensor_columns = std::max(block_.result.tensor_columns, first + count);
  return first;
}

void TensorUnit::free(std::uint32_t address, unsigned count) {
  const auto found = std::ranges::find_if(
      allocations_, [&](const Allocation& a) { return a.first == address && a.count == count; });
  if (found == allocations_.end()) {
    throw Fault{"tcgen05.dealloc of what tcgen05.alloc has not given", 0};
  }
  const TensorUnit* const units[] = {this, group_ == 2 ? peer() : nullptr};
  for (const TensorUnit* const unit : units) {
    const bool is_idle = unit == nullptr || std::ranges::all_of(unit->asked_, [](const auto& of) {
                           return of.second.empty();
                         });
    if (!is_idle) throw Fault{"tcgen05.dealloc while products are under way", 0};
  }
  std::fill_n(written_.begin() + address, count, 0);
  allocations_.erase(found);
}

void TensorUnit::require_allocated(unsigned first, unsigned count) const {
  const bool is = std::ranges::any_of(allocations_, [&](const Allocation& a) {
    return first >= a.first && first + count <= a.first + a.count;
  });
  if (!is) {
    throw Fault{
        "use of tensor memory that is not allocated, from column " + std::to_string(first) + " on",
        0};
  }
}

std::uint32_t TensorUnit::word(unsigned lane, unsigned column) const {
  if ((written_[column] >> lane / quarter & 1) == 0) {
    throw Fault{"read of column " + std::to_string(column) +
                    " of tensor memory, which neither a finished product nor a store has written",
                0};
  }
  return words_[std::size_t{lane} * columns + column];
}

void TensorUnit::store(unsigned first_lane, unsigned column, const Column& words) {
  for (unsigned i = 0; i < lanes; ++i) {
    words_[(first_lane + i) * std::size_t{columns} + column] = words[i];
  }
  written_[column] |= 1u << first_lane / quarter;
}

void TensorUnit::multiply(unsigned thread, const Product& product) {
  require_allocated(product.d & 0xffff, product.columns);
  if (product.is_pairs) require_pair("tcgen05.mma");
  ask(thread, {product});
}

void TensorUnit::commit(unsigned thread, std::uint64_t barrier,
                        std::optional<std::uint16_t> ranks) {
  if (ranks && (*ranks == 0 || *ranks >> block_.launch().cluster != 0)) {
    throw Fault{"tcgen05.commit to no block, or to one beyond the cluster", 0};
  }
  ask(thread, {{}, barrier, What::commit, {}, ranks.value_or(0)});
}

void TensorUnit::ask(unsigned thread, const Step& step) {
  if (block_.conduct.late_products) {
    asked_[thread].push_back(step);
  } else {
    carry_out(step);
  }
}

bool TensorUnit::finish_one() {
  std::erase_if(asked_, [](const auto& of_thread) { return of_thread.second.empty(); });
  if (asked_.empty()) return false;
  const std::size_t which = block_.conduct.random_order ? block_.dice.below(asked_.size()) : 0;
  auto& steps = std::next(asked_.begin(), static_cast<std::ptrdiff_t>(which))->second;
  const Step step = steps.front();
  steps.pop_front();
  carry_out(step);
  return true;
}

void TensorUnit::carry_out(const Step& step) {
  switch (step.what) {
    case What::commit:
      return arrive(step);
    case What::copy:
      for (TensorUnit* const unit : units(step.copy.is_pairs)) unit->receive(step.copy);
      return;
    case What::product:
      return step.product.scaled_bits > 0 ? compute_scaled(step.product) : compute(step.product);
  }
}

const std::byte* TensorUnit::piece(std::uint64_t descriptor, unsigned row, unsigned piece) const {
  return block_.memory.shared_piece(Descriptor(descriptor).place(row, piece), piece_bytes,
                                    piece_bytes);
}

// Rows of a, or columns of b: [row * depth + k].
std::vector<double> TensorUnit::read(Type type, std::uint64_t descriptor, unsigned count) const {
  const Descriptor matrix(descriptor);
  const unsigned bytes = bytes_of(type), depth = k_bytes / bytes, in_piece = piece_bytes / bytes;
  std::vector<double> elements(std::size_t{count} * depth);
  for (unsigned row = 0; row < count; ++row) {
    for (unsigned piece = 0; piece < k_bytes / piece_bytes; ++piece) {
      const std::byte* const at =
          block_.memory.shared_piece(matrix.place(row, piece), piece_bytes, piece_bytes);
      for (unsigned i = 0; i < in_piece; ++i) {
        elements[row * depth + piece * in_piece + i] = element(type, at + i * bytes);
      }
    }
  }
  return elements;
}

// A factor in tensor memory: row i is lane i, and columns hold neighbours along k.
std::vector<double> TensorUnit::read_columns(Type type, std::uint32_t address) const {
  const unsigned bytes = bytes_of(type), depth = k_bytes / bytes;
  std::array<std::uint32_t, k_bytes / sizeof(std::uint32_t)> held;
  std::vector<double> elements;
  elements.reserve(std::size_t{rows} * depth);
  for (unsigned row = 0; row < rows; ++row) {
    for (unsigned i = 0; i < held.size(); ++i) held[i] = word(row, address + i);
    for (unsigned k = 0; k < depth; ++k) {
      elements.push_back(
          element(type, reinterpret_cast<const std::byte*>(held.data()) + k * bytes));
    }
  }
  return elements;
}

// Columns of b whose rows lie across k: [column * depth + k].
std::vector<double> TensorUnit::read_across(Type type, std::uint64_t descriptor,
                                            unsigned count) const {
  const Descriptor matrix(descriptor);
  const unsigned bytes = bytes_of(type), depth = k_bytes / bytes, in_piece = piece_bytes / bytes;
  std::vector<double> elements(std::size_t{count} * depth);
  for (unsigned k = 0; k < depth; ++k) {
    for (unsigned column = 0; column < count; ++column) {
      const std::byte* const at = block_.memory.shared_piece(
          matrix.place_across(k, column / in_piece), piece_bytes, piece_bytes);
      elements[column * depth + k] = element(type, at + column % in_piece * bytes);
    }
  }
  return elements;
}

void TensorUnit::compute(const Product& p) {
  const std::vector<TensorUnit*> in = units(p.is_pairs);
  const auto blocks = static_cast<unsigned>(in.size());
  const unsigned columns_per_block = p.columns / blocks, depth = k_bytes / bytes_of(p.type);
  std::vector<double> b(std::size_t{p.columns} * depth);
  for (unsigned i = 0; i < blocks; ++i) {
    const std::vector<double> part = p.b_is_across ? read_across(p.type, p.b, columns_per_block)
                                                   : in[i]->read(p.type, p.b, columns_per_block);
    for (unsigned column = 0; column < columns_per_block; ++column) {
      for (unsigned k = 0; k < depth; ++k) {
        b[k * p.columns + i * columns_per_block + column] = part[column * depth + k];
      }
    }
  }
  for (TensorUnit* const unit : in) {
    const std::vector<double> a = p.a_is_in_columns
                                      ? read_columns(p.type, static_cast<std::uint32_t>(p.a))
                                      : unit->read(p.type, p.a, rows);
    unit->add_and_store(p, a, b, depth);
  }
}

void TensorUnit::add_and_store(const Product& p, const std::vector<double>& a,
                               const std::vector<double>& b, unsigned depth) {
  const unsigned first = p.d & 0xffff;
  std::vector<double> sums(std::size_t{rows} * p.columns);
  // Row i is lane i, column j of the sums the j-th of tensor memory.
  const auto each = [&](auto&& use) {
    for (unsigned row = 0; row < rows; ++row) {
      for (unsigned column = 0; column < p.columns; ++column) {
        use(sums[std::size_t{row} * p.columns + column],
            words_[std::size_t{row} * columns + first + column]);
      }
    }
  };
  if (p.adds) {
    for (unsigned column = first; column < first + p.columns; ++column) {
      for (unsigned lane = 0; lane < rows; lane += quarter) word(lane, column);
    }
    each([&](double& sum, const std::uint32_t& word) { sum = element(p.sum_type, &word); });
  }
  (has_wide_vectors() ? add_products_wide : add_products)(a.data(), b.data(), sums.data(), rows,
                                                          p.columns, depth);
  const bool is_float = p.sum_type == Type::f32;
  each([&](double sum, std::uint32_t& word) {
    word = is_float ? std::bit_cast<std::uint32_t>(static_cast<float>(sum))
                    : static_cast<std::uint32_t>(static_cast<std::int64_t>(sum));
  });
  std::fill_n(written_.begin() + first, p.columns, all_quarters);
}

}  // namespace gpubench::model::ptx
