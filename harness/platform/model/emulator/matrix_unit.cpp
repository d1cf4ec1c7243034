#include "harness/platform/model/emulator/matrix_unit.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "harness/platform/model/emulator/host_code.hpp"
#include "harness/platform/model/emulator/shared_operands.hpp"

namespace gpubench::model {

namespace operation = warp_operation;

void MatrixUnit::refuse_partial_warpgroup(const char* who, unsigned lanes_together,
                                          const void* code) {
  const LaneScheduler& lanes = block_.lanes();
  if ((lanes.current() / lanes_together + 1) * lanes_together <= lanes.lanes()) return;
  const HostCode host;
  block_.fault("matrix multiplication by " + std::string(who) + " threads,", code);
}

void MatrixUnit::multiply(Tensor type, bool by_warpgroup, const MatrixElements& mine,
                          const void* code) {
  refuse_partial_warpgroup(
      by_warpgroup ? "a warpgroup of fewer than 128" : "a warp of fewer than 32",
      by_warpgroup ? 4 * warp_lanes : warp_lanes, code);
  const unsigned me = block_.lanes().current();
  if (!by_warpgroup && block_.is_traced()) {
    block_.recorder().count_product();
    if (me % warp_lanes == 0) {
      block_.result().fragments_ahead += fragments_[me / warp_lanes].multiply(
          mine.a, FragmentLoads::bytes_of_a_load, mine.b,
          std::size_t{mine.products} * FragmentLoads::bytes_of_a_load / 2);
    }
  }
  const int first = by_warpgroup ? operation::warpgroup_matrices : operation::matrices;
  collectives_.take_part({.operation = first + static_cast<int>(type),
                          .value = reinterpret_cast<std::uint64_t>(&mine)},
                         code, this);
}

void MatrixUnit::load(unsigned* to, const void* row, bool transposed, const void* code) {
  constexpr unsigned bytes = 16;
  const LaneScheduler& lanes = block_.lanes();
  const bool whole = (lanes.current_warp() + 1) * warp_lanes <= lanes.lanes();
  const char* const wrong = !whole ? "ldmatrix by a warp of fewer than 32 threads,"
                            : !block_.shared().holds(reinterpret_cast<std::uint64_t>(row))
                                ? "ldmatrix of what is not shared memory,"
                                : nullptr;
  if (wrong != nullptr) block_.fault(wrong, code);
  block_.on_access(row, bytes, EventKind::load, code);
  if (lanes.current() % warp_lanes == 0) fragments_[lanes.current_warp()].load(to);
  const MatrixRow mine{to, static_cast<const std::byte*>(row)};
  collectives_.take_part({.operation = operation::matrix_load + (transposed ? 1 : 0),
                          .value = reinterpret_cast<std::uint64_t>(&mine)},
                         code, this);
}

void MatrixUnit::multiply_shared(const SharedProduct& mine, const void* code) {
  refuse_partial_warpgroup("a warpgroup of fewer than 128", 4 * warp_lanes, code);
  collectives_.take_part(
      {.operation = operation::shared_matrices, .value = reinterpret_cast<std::uint64_t>(&mine)},
      code, this);
}

void MatrixUnit::commit_products(const void* code) {
  const LaneScheduler& lanes = block_.lanes();
  if (lanes.current() % warp_lanes == 0) {
    products_[lanes.current_warp()].commit(block_.recorder().computed_so_far());
  }
  collectives_.take_part({.operation = operation::commit_matrices}, code, this);
}

void MatrixUnit::wait_for_products(unsigned groups_left, const void* code) {
  const LaneScheduler& lanes = block_.lanes();
  if (lanes.current() % warp_lanes == 0) {
    products_[lanes.current_warp()].wait(groups_left, block_.recorder().computed_so_far(),
                                         block_.result());
  }
  collectives_.take_part({.operation = operation::wait_for_matrices, .argument = groups_left}, code,
                         this);
}

unsigned MatrixUnit::carry_out(unsigned warp, const WarpCall* const lanes[]) {
  switch (const int what = lanes[0]->operation) {
    case operation::shared_matrices:
      multiply_from_shared(warp, lanes);
      return 1;
    case operation::commit_matrices:
      reads_.commit(warp);
      return 0;
    case operation::wait_for_matrices:
      reads_.wait(warp, lanes[0]->argument);
      return 0;
    case operation::matrix_load:
    case operation::matrix_load + 1:
      distribute(what == operation::matrix_load + 1, lanes);
      return 1;
    default:
      return multiply_registers(warp, lanes);
  }
}

// Each lane's value is where its elements are, on its own stack; all of them wait.
unsigned MatrixUnit::multiply_registers(unsigned warp, const WarpCall* const lanes[]) {
  WarpElements elements;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    elements[lane] = reinterpret_cast<const MatrixElements*>(lanes[lane]->value);
  }
  const int what = lanes[0]->operation;
  const bool by_warpgroup = what >= operation::warpgroup_matrices;
  const auto type = static_cast<Tensor>(
      what - (by_warpgroup ? operation::warpgroup_matrices : operation::matrices));
  const auto index = static_cast<std::size_t>(type);
  if (by_warpgroup) {
    multiply_tiles(type, elements, warp % 4);
    block_.result().warpgroup_flops[index] += 2 * 16 * warpgroup_columns * depth_of(type);
    return 1;
  }
  require_scales(type, elements);
  multiply_fragments(type, elements);
  const unsigned products = elements[0]->products;
  block_.result().tensor_flops[index] += std::uint64_t{2} * 16 * 8 * depth_of(type) * products;
  return products;
}

// All lanes choose the same scales, among those that there are.
void MatrixUnit::require_scales(Tensor type, const WarpElements& lanes) {
  const unsigned together = scaled_together(type);
  if (together == 0) return;
  const BlockScales& first = lanes[0]->scales;
  const auto chosen = [](const BlockScales& s) {
    return std::array{s.byte_a, s.thread_a, s.byte_b, s.thread_b};
  };
  const unsigned last_byte = 4 - depth_of(type) / together;
  const bool exist = first.byte_a <= last_byte && first.byte_b <= last_byte && first.thread_a < 2 &&
                     first.thread_b < 4;
  const bool agree = std::ranges::all_of(
      lanes, [&](const MatrixElements* lane) { return chosen(lane->scales) == chosen(first); });
  if (exist && agree) return;
  const HostCode host;
  block_.fault(exist ? "mma.sync of whose lanes some choose other scales,"
                     : "mma.sync that chooses scales which there are not,",
               block_.lanes().current_lane().waiting_at);
}

void MatrixUnit::distribute(bool transposed, const WarpCall* const lanes[]) {
  const auto of = [&](unsigned lane) {
    return reinterpret_cast<const MatrixRow*>(lanes[lane]->value);
  };
  constexpr unsigned rows = 8;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    const unsigned g = lane / 4, t = lane % 4;
    for (unsigned matrix = 0; matrix < warp_lanes / rows; ++matrix) {
      std::array<std::uint16_t, 2> pair;
      for (unsigned i = 0; i < 2; ++i) {
        const unsigned row = transposed ? 2 * t + i : g, column = transposed ? g : 2 * t + i;
        std::memcpy(&pair[i], of(matrix * rows + row)->row + column * sizeof pair[i],
                    sizeof pair[i]);
      }
      std::memcpy(of(lane)->to + matrix, pair.data(), sizeof pair);
    }
  }
}

void MatrixUnit::multiply_from_shared(unsigned warp, const WarpCall* const lanes[]) {
  const HostCode host;
  const auto of_lane = [&](unsigned lane) -> const SharedProduct& {
    return *reinterpret_cast<const SharedProduct*>(lanes[lane]->value);
  };
  const SharedProduct& first = of_lane(0);
  std::array<float*, warp_lanes> sums;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    const SharedProduct& mine = of_lane(lane);
    sums[lane] = mine.d;
    if (mine.a != first.a || mine.b != first.b || mine.adds != first.adds) {
      block_.fault("wgmma of whose lanes some name other matrices,",
                   block_.lanes().current_lane().waiting_at);
    }
  }
  constexpr unsigned rows = 16, piece_bytes = 16;
  const unsigned depth = depth_of(first.type), in_piece = depth / 2;
  const auto pieces = [&](const SharedRows& of) {
    return pieces_of(block_, of, "wgmma", block_.lanes().current_lane().waiting_at,
                     [&](std::uint64_t address) { reads_.note(address, warp); });
  };
  HeldRows held;
  std::vector<const std::byte*> a;
  if (first.held_a != nullptr) {
    std::array<const unsigned*, warp_lanes> registers;
    for (unsigned lane = 0; lane < warp_lanes; ++lane) registers[lane] = of_lane(lane).held_a;
    held = held_rows(registers);
    for (const auto& row : held) {
      const auto* const bytes = reinterpret_cast<const std::byte*>(row.data());
      a.insert(a.end(), {bytes, bytes + piece_bytes});
    }
  } else {
    a = pieces({SharedMatrix(first.a), false, warp % 4 * rows, rows, 2});
  }
  const bool turned = first.b_is_transposed;
  const auto b = pieces({SharedMatrix(first.b), turned, 0, turned ? depth : first.columns,
                         turned ? first.columns / in_piece : 2});
  multiply_pieces(first.type, {a, b, first.columns, turned}, sums, first.adds);
  const std::uint64_t flops = std::uint64_t{2} * rows * first.columns * depth;
  block_.result().warpgroup_flops[static_cast<std::size_t>(first.type)] += flops;
  products_[warp].start(first.type, flops);
}

}  // namespace gpubench::model
