#include "harness/platform/model/emulator/memory_checker.hpp"

#include <algorithm>
#include <bit>

#include "harness/platform/model/emulator/host_code.hpp"

namespace gpubench::model {
namespace {

constexpr std::size_t first_slots = 1024;

}  // namespace

void MemoryChecker::begin_block(unsigned threads, std::size_t shared_words) {
  if (++block_ == 0) {  // numbers come again: nothing may be taken for today's
    std::fill(slots_.begin(), slots_.end(), Slot{});
    block_ = 1;
  }
  sectors_ = 0;
  if (slots_.empty()) {
    slots_.resize(first_slots);
    slot_shift_ = 64 - static_cast<unsigned>(std::countr_zero(first_slots >> 3));
  }
  if (shared_.size() < shared_words) shared_.resize(shared_words);
  written_.assign(shared_words, 0);
  const std::size_t warps = (threads + lanes_a_warp - 1) / lanes_a_warp;
  if (warps_.size() < warps) warps_.resize(warps);
  begin_clocks();
  barrier();
}

void MemoryChecker::begin_clocks() {
  for (Warp& warp : warps_) {
    warp.time = 1;
    warp.full = 0;
    warp.in_parts = false;
  }
}

void MemoryChecker::barrier() {
  if (++interval_ == 0) {  // as with blocks
    std::fill(global_.begin(), global_.end(), Cell{});
    std::fill(shared_.begin(), shared_.end(), Cell{});
    interval_ = 1;
  }
  rich_.clear();
  splits_.clear();
  lists_used_ = 0;
}

void MemoryChecker::sync_warp(unsigned warp, std::uint32_t mask, std::uint32_t all) {
  Warp& w = warps_[warp];
  if (w.time + 1 == 1u << time_bits) {  // two million times: forgets what was before
    begin_clocks();
    barrier();
  }
  const std::uint32_t now = ++w.time;
  if (mask == all) {
    w.full = now;
    return;
  }
  if (!w.in_parts) {
    w.in_parts = true;
    for (auto& of_lane : w.known) of_lane.fill(0);
  }
  std::array<std::uint32_t, lanes_a_warp> together{};
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto& of_lane = w.known[static_cast<std::size_t>(std::countr_zero(rest))];
    for (unsigned j = 0; j < lanes_a_warp; ++j) together[j] = std::max(together[j], of_lane[j]);
  }
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    together[static_cast<std::size_t>(std::countr_zero(rest))] = now;
  }
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    w.known[static_cast<std::size_t>(std::countr_zero(rest))] = together;
  }
}

bool MemoryChecker::has_room(std::size_t elements, std::size_t bytes_each) {
  const HostCode host;
  // No exception can pass through a kernel. Nor is one thrown on a lane's stack, where
  // AddressSanitizer would keep the marks of what it has passed.
  if (auto why = why_not_keep(elements, bytes_each)) lacking_ = std::move(why);
  return !lacking_;
}

MemoryChecker::Cell* MemoryChecker::add_sector(std::uint64_t sector, std::size_t slot) {
  if (lacking_) return unkept_.data();
  if (2 * (sectors_ + std::size_t{1}) > slots_.size()) {
    if (!has_room(2 * slots_.size(), sizeof(Slot))) return unkept_.data();
    std::vector<Slot> larger(2 * slots_.size());
    std::swap(slots_, larger);
    --slot_shift_;
    for (const Slot& old : larger) {
      if (old.block != block_) continue;
      std::size_t i = home_of(old.sector);
      while (slots_[i].block == block_) i = (i + 1) & (slots_.size() - 1);
      slots_[i] = old;
    }
    return cells_of(sector);
  }
  const std::size_t cells = (sectors_ + std::size_t{1}) * words_a_sector;
  if (global_.size() < cells) {
    if (!has_room(2 * cells, sizeof(Cell))) return unkept_.data();
    global_.resize(2 * cells);
  }
  slots_[slot] = {sector, block_, sectors_++};
  return &global_[slots_[slot].cells * std::size_t{words_a_sector}];
}

bool MemoryChecker::note_remote(std::uint64_t offset, unsigned bytes, EventKind kind) {
  const auto part = part_of(offset, bytes);
  for (std::size_t i = offset / word_bytes; i * word_bytes < offset + bytes; ++i) {
    if (kind == EventKind::store) {
      written_[i] |= part;
    } else if ((written_[i] & part) != part) {
      return false;
    }
  }
  return true;
}

MemoryChecker::Verdict MemoryChecker::begin_copy(std::uint64_t offset, unsigned bytes,
                                                 bool others_wait) {
  const Verdict verdict = on_shared(offset, bytes, EventKind::store);
  if (verdict != Verdict::good) return verdict;
  for (std::size_t i = offset / word_bytes; i < (offset + bytes) / word_bytes; ++i) {
    written_[i] = copying;
    if (others_wait) shared_[i] = {interval_, nobody, {}};  // it is no thread's store
  }
  return verdict;
}

bool MemoryChecker::begin_copy_by_another(std::uint64_t offset, unsigned bytes) {
  for (std::size_t i = offset / word_bytes; i < (offset + bytes) / word_bytes; ++i) {
    if (written_[i] == copying) return false;
    written_[i] = copying;
    shared_[i] = {interval_, nobody, {}};
  }
  return true;
}

void MemoryChecker::settle(std::uint64_t offset, unsigned bytes) {
  for (std::size_t i = offset / word_bytes; i < (offset + bytes) / word_bytes; ++i) {
    if (written_[i] == copying) written_[i] = whole;
  }
}

MemoryChecker::Verdict MemoryChecker::end_copy(std::uint64_t offset, unsigned bytes) {
  settle(offset, bytes);
  return on_shared(offset, bytes, EventKind::store);
}

MemoryChecker::Verdict MemoryChecker::on_copied(std::uint64_t offset, unsigned bytes,
                                                EventKind kind) {
  const std::size_t end = (offset + bytes + word_bytes - 1) / word_bytes;
  for (std::size_t i = offset / word_bytes; i < end; ++i) {
    if (!is_good(shared_[i], part_of(offset, bytes), kind)) return Verdict::race;
  }
  return Verdict::good;
}

bool MemoryChecker::is_good_in_detail(Cell& cell, std::uint8_t part, EventKind kind) {
  if (cell.interval != interval_) cell = {interval_, nobody, {}};
  if ((cell.store & is_rich) == 0) {
    if (part == whole && kind != EventKind::atomic) {
      if (!is_store_before(cell.store)) return false;
      if (kind == EventKind::store) {
        if (!is_before(cell.load, EventKind::load)) return false;
        cell.store = store_;
        cell.load = {};
        return true;
      }
      if (merge(cell.load)) return true;
    }
    rich_.push_back({cell.store, 0, cell.load, {}});
    cell.store = is_rich | static_cast<std::uint32_t>(rich_.size() - 1);
  }
  Rich& rich = rich_[cell.store & ~is_rich];
  const bool is_split = rich.detail != 0 && (rich.detail & is_list) == 0;
  if (part == whole && !is_split) return take(rich, kind);
  if (!is_split) split(rich);
  auto& bytes = splits_[rich.detail - 1];
  for (std::size_t i = 0; i < word_bytes; ++i) {
    if ((part >> i & 1) != 0 && !take(bytes[i], kind)) return false;
  }
  return true;
}

void MemoryChecker::split(Rich& word) {
  auto& bytes = splits_.emplace_back();
  for (Rich& byte : bytes) {
    byte = word;
    if ((word.detail & is_list) == 0) continue;
    const std::uint32_t copy = new_list();
    lists_[copy] = lists_[word.detail & ~is_list];
    byte.detail = is_list | copy;
  }
  word.detail = static_cast<std::uint32_t>(splits_.size());
}

std::uint32_t MemoryChecker::new_list() {
  if (lists_.size() == lists_used_) lists_.emplace_back();
  lists_[lists_used_].clear();
  return lists_used_++;
}

// Checks an access to all of what is not split, and notes it.
bool MemoryChecker::take(Rich& rich, EventKind kind) {
  if (rich.detail != 0) return take_listed(rich.detail & ~is_list, kind);
  if (!is_store_before(rich.store)) return false;
  if (kind != EventKind::load && !is_before(rich.load, EventKind::load)) return false;
  if (kind != EventKind::atomic && !is_before(rich.atomic, EventKind::atomic)) return false;
  if (kind == EventKind::store) {
    // Whatever is not ordered with what came before it is not ordered with this store either.
    rich.store = store_;
    rich.load = {};
    rich.atomic = {};
  } else if (!merge(kind == EventKind::load ? rich.load : rich.atomic)) {
    to_list(rich);
    return take_listed(rich.detail & ~is_list, kind);
  }
  return true;
}

// false: lanes of this warp that met in parts did this at different times.
bool MemoryChecker::merge(Record& record) {
  if (record.lanes == 0 || record.when == when_) {
    record = {when_, record.lanes | bit_};
    return true;
  }
  if (record.when == several_warps) return true;
  constexpr std::uint32_t warp_mask = (1u << warp_bits) - 1;
  if ((record.when & warp_mask) != (when_ & warp_mask)) {
    record = {several_warps, ~0u};
    return true;
  }
  // What is ordered before this access need not be kept: see store, above.
  const unsigned first = (when_ & warp_mask) * lanes_a_warp;
  for (std::uint32_t rest = record.lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    if (!is_before(first + lane, record.when >> warp_bits)) return false;
  }
  record = {when_, bit_};
  return true;
}

void MemoryChecker::to_list(Rich& rich) {
  const std::uint32_t index = new_list();
  std::vector<Entry>& list = lists_[index];
  if (rich.store != nobody) {
    list.push_back({rich.store >> thread_bits,
                    static_cast<std::uint16_t>(rich.store & ((1u << thread_bits) - 1)),
                    EventKind::store});
  }
  for (const auto& [record, kind] :
       {std::pair(rich.load, EventKind::load), std::pair(rich.atomic, EventKind::atomic)}) {
    const std::uint32_t first = (record.when & ((1u << warp_bits) - 1)) * lanes_a_warp;
    for (std::uint32_t rest = record.lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
      list.push_back({record.when >> warp_bits, static_cast<std::uint16_t>(first + lane), kind});
    }
  }
  rich.detail = is_list | index;
}

bool MemoryChecker::take_listed(std::uint32_t index, EventKind kind) {
  std::vector<Entry>& list = lists_[index];
  Entry* mine = nullptr;
  for (Entry& entry : list) {
    if (entry.thread == me()) {
      if (entry.kind == kind) mine = &entry;
      continue;
    }
    const bool conflicts =
        entry.kind == EventKind::store || kind == EventKind::store || entry.kind != kind;
    if (conflicts && !is_before(entry.thread, entry.time)) {
      return lost_to(entry.kind, false, entry.thread);
    }
  }
  if (mine != nullptr) {
    mine->time = warp_->time;
  } else {
    list.push_back({warp_->time, static_cast<std::uint16_t>(me()), kind});
  }
  return true;
}

bool MemoryChecker::is_before(unsigned thread, std::uint32_t time) const {
  if (thread == me()) return true;
  if (thread / lanes_a_warp != me() / lanes_a_warp) return false;
  return time < warp_->full ||
         (warp_->in_parts && time < warp_->known[lane_][thread % lanes_a_warp]);
}

bool MemoryChecker::is_store_before(std::uint32_t store) {
  const unsigned thread = store & ((1u << thread_bits) - 1);
  if (store == nobody || is_before(thread, store >> thread_bits)) return true;
  return lost_to(EventKind::store, false, thread);
}

bool MemoryChecker::is_before(const Record& record, EventKind kind) {
  if (record.lanes == 0) return true;
  if (record.when == several_warps) return lost_to(kind, true, 0);
  const std::uint32_t first = (record.when & ((1u << warp_bits) - 1)) * lanes_a_warp;
  for (std::uint32_t rest = record.lanes; rest != 0; rest &= rest - 1) {
    const unsigned thread = first + static_cast<unsigned>(std::countr_zero(rest));
    if (!is_before(thread, record.when >> warp_bits)) return lost_to(kind, false, thread);
  }
  return true;
}

bool MemoryChecker::lost_to(EventKind kind, bool in_another_warp, unsigned thread) {
  opponent_ = {kind, in_another_warp, thread};
  return false;
}

}  // namespace gpubench::model
