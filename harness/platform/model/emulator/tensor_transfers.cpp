// What warps load from tensor memory and store there: 32 columns of their own quarter of its lanes.
#include <algorithm>
#include <cstring>

#include "harness/platform/model/emulator/host_code.hpp"
#include "harness/platform/model/emulator/tensor_memory.hpp"

namespace gpubench::model {

namespace operation = warp_operation;

namespace {

constexpr unsigned column_of(unsigned address) { return address & 0xffff; }
constexpr unsigned lane_of(unsigned address) { return address >> 16; }

// What lanes say of a transfer.
struct Loaded {
  void* to;
  unsigned address;
};
struct Stored {
  const void* from;
  unsigned address;
};

}  // namespace

void TensorMemory::load(void* to, unsigned address, const void* code) {
  fences_.use(true, code);
  const Loaded mine{to, address};
  take_part(operation::load_tensor_memory, reinterpret_cast<std::uint64_t>(&mine), "tcgen05.ld",
            code);
}
void TensorMemory::wait(const void* code) {
  take_part(operation::wait_for_tensor_memory, 0, "tcgen05.wait::ld", code);
}
void TensorMemory::store(unsigned address, const void* from, const void* code) {
  fences_.use(true, code);
  const Stored mine{from, address};
  take_part(operation::store_tensor_memory, reinterpret_cast<std::uint64_t>(&mine), "tcgen05.st",
            code);
}
void TensorMemory::wait_for_stores(const void* code) {
  take_part(operation::wait_for_tensor_stores, 0, "tcgen05.wait::st", code);
}

void TensorMemory::require_own_lanes(const char* what, unsigned warp, unsigned address,
                                     const void* code) {
  const unsigned first = column_of(address), quarter = warp % quarters * warp_lanes;
  if (lane_of(address) != quarter) {
    block_.fault(std::string(what) + " of lane " + std::to_string(lane_of(address)) +
                     " and on by warp " + std::to_string(warp) + ", whose lanes begin with " +
                     std::to_string(quarter) + ",",
                 code);
  }
  if (!is_allocated(first, columns_of_load)) {
    block_.fault(std::string(what) + " of columns that are not allocated, from " +
                     std::to_string(first) + " on,",
                 code);
  }
}

// Whether `warp` knows that the other warps with the same lanes have done what they do there.
bool TensorMemory::is_known_by_quarter(const Arrivals::Known& accesses, unsigned warp) const {
  const Arrivals::Known& known = arrivals_.known_to(warp);
  for (unsigned other = warp % quarters; other < accesses.size(); other += quarters) {
    if (other == warp || accesses[other] == 0) continue;
    if (accesses[other] == under_way || known[arrivals_.number_of(other)] < accesses[other]) {
      return false;
    }
  }
  return true;
}

void TensorMemory::require_loadable(unsigned warp, unsigned c, const void* code) {
  const Column& column = columns_[c];
  const auto what = [&] { return "tcgen05.ld of column " + std::to_string(c); };
  if ((column.quarters_written >> warp % quarters & 1) == 0) {
    block_.fault(what() + ", which nobody has written,", code);
  }
  if (!block_.is_traced()) return;
  if (!is_known(column.written, arrivals_.known_to(warp))) {
    block_.fault("race: " + what() +
                     ", which tcgen05.mma may still be writing: no tcgen05.commit that was"
                     " waited for says otherwise,",
                 code);
  }
  const bool is_own = warp < column.stored.size() && column.stored[warp] == under_way;
  if (is_own || !is_known_by_quarter(column.stored, warp)) {
    block_.fault("race: " + what() + ", which a warp may still be writing by tcgen05.st,", code);
  }
}

void TensorMemory::require_storable(unsigned warp, unsigned c, const void* code) {
  const Column& column = columns_[c];
  const Arrivals::Known& known = arrivals_.known_to(warp);
  const auto race = [&](const char* who) {
    block_.fault("race: tcgen05.st to column " + std::to_string(c) + ", which " + who + ",", code);
  };
  if (!is_known(column.written, known)) race("tcgen05.mma may still be writing");
  if (!is_known(column.multiplied, known)) race("tcgen05.mma may still be reading");
  const bool is_own = warp < column.read.size() && column.read[warp] == under_way;
  if (is_own || !is_known_by_quarter(column.read, warp)) {
    race("a warp may still be reading by tcgen05.ld");
  }
  if (!is_known_by_quarter(column.stored, warp)) race("a warp may still be writing by tcgen05.st");
}

// Its registers hold nothing of use until they have been waited for.
void TensorMemory::load_for(unsigned warp, const WarpCall* const lanes[]) {
  const void* const code = code_of_warp();
  const unsigned address = reinterpret_cast<const Loaded*>(lanes[0]->value)->address;
  const unsigned first = column_of(address);
  require_own_lanes("tcgen05.ld", warp, address, code);
  for (unsigned c = first; c < first + columns_of_load; ++c) {
    require_loadable(warp, c, code);
    if (!block_.is_traced()) continue;
    columns_[c].read.resize(block_.lanes().warps());
    columns_[c].read[warp] = under_way;
  }
  Load& load = loads_[warp].emplace_back();
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    const Loaded& mine = *reinterpret_cast<const Loaded*>(lanes[lane]->value);
    if (mine.address != address) {
      block_.fault("tcgen05.ld whose lanes name different addresses,", code);
    }
    load.to[lane] = mine.to;
    std::copy_n(&words_[(lane_of(address) + lane) * std::size_t{columns} + first], columns_of_load,
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
  finish(warp, &Column::read);
}

void TensorMemory::store_for(unsigned warp, const WarpCall* const lanes[]) {
  const void* const code = code_of_warp();
  const unsigned address = reinterpret_cast<const Stored*>(lanes[0]->value)->address;
  const unsigned first = column_of(address);
  require_own_lanes("tcgen05.st", warp, address, code);
  for (unsigned c = first; c < first + columns_of_load; ++c) {
    Column& column = columns_[c];
    column.quarters_written |= 1u << warp % quarters;
    if (!block_.is_traced()) continue;
    require_storable(warp, c, code);
    column.stored.resize(block_.lanes().warps());
    column.stored[warp] = under_way;
  }
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    const Stored& mine = *reinterpret_cast<const Stored*>(lanes[lane]->value);
    if (mine.address != address) {
      block_.fault("tcgen05.st whose lanes name different addresses,", code);
    }
    std::memcpy(&words_[(lane_of(address) + lane) * std::size_t{columns} + first], mine.from,
                columns_of_load * sizeof words_[0]);
  }
}

// The warp has waited for its loads, or for its stores: its next arrival says so.
void TensorMemory::finish(unsigned warp, Arrivals::Known Column::*accesses) {
  if (!block_.is_traced()) return;
  for (Column& column : columns_) {
    Arrivals::Known& of_warps = column.*accesses;
    if (warp < of_warps.size() && of_warps[warp] == under_way) {
      of_warps[warp] = arrivals_.made_by(arrivals_.number_of(warp)) + 1;
    }
  }
}

}  // namespace gpubench::model
