#include "harness/platform/model/emulator/copy_log.hpp"

#include <utility>

namespace gpubench::model {

void CopyLog::begin_block(unsigned lanes) {
  if (unwaited_.size() < lanes) unwaited_.resize(lanes);
  if (copies_.empty()) return;
  for (auto& of_lane : unwaited_) of_lane.clear();
  copies_.clear();
  unsettled_.clear();
}

void CopyLog::add(AsyncCopy copy) {
  if (copies_.empty()) last_into_word_.assign(shared_.words(), 0);
  const std::uint64_t first = shared_.offset_of(copy.to) / 4;
  const std::uint64_t end = (shared_.offset_of(copy.to) + copy.bytes) / 4;
  const auto index = static_cast<std::uint32_t>(copies_.size());
  for (std::uint64_t word = first; word < end; ++word) last_into_word_[word] = index + 1;
  (copy.barrier != nullptr ? unsettled_ : unwaited_[copy.lane]).push_back(index);
  copies_.push_back(std::move(copy));
}

std::uint32_t CopyLog::into_word(std::uint64_t word) const {
  return copies_.empty() ? none : last_into_word_[word] - 1;
}

const AsyncCopy* CopyLog::into(std::uint64_t address) const {
  const std::uint32_t index = into_word(shared_.offset_of(address) / 4);
  return index == none ? nullptr : &copies_[index];
}

bool CopyLog::may_use(std::uint64_t address, unsigned bytes, unsigned lane) const {
  for (std::uint64_t at = address; at < address + bytes; at += 4) {
    if (!checker_.is_under_way(shared_.offset_of(at) / 4)) continue;
    if (!into(at)->is_seen_by(lane)) return false;
  }
  return true;
}

void CopyLog::settle_seen(bool of_cluster) {
  std::erase_if(unsettled_, [&](std::uint32_t i) {
    const AsyncCopy& copy = copies_[i];
    if (!copy.is_seen() || (copy.arrives_in_peer && !of_cluster)) return false;
    checker_.settle(shared_.offset_of(copy.to), copy.bytes);
    return true;
  });
}

}  // namespace gpubench::model
