#include "harness/platform/model/emulator/cluster_memory.hpp"

#include "harness/platform/model/emulator/block.hpp"
#include "harness/platform/model/emulator/source_location.hpp"

namespace gpubench::model {
namespace {

constexpr std::uint64_t word_bytes = 4;

std::size_t number_of(EventKind kind) {
  return kind == EventKind::load ? 0 : kind == EventKind::store ? 1 : 2;
}

std::string access(unsigned bytes, EventKind kind) {
  return std::to_string(bytes) + "-byte " + name_of(kind);
}

}  // namespace

void ClusterMemory::begin(std::vector<Block*> blocks) {
  blocks_ = std::move(blocks);
  words_.resize(blocks_.size());
  for (std::size_t number = 0; number < blocks_.size(); ++number) {
    const std::size_t words = blocks_[number]->shared().dynamic_bytes() / word_bytes + 1;
    if (words_[number].size() < words) words_[number].resize(words);
  }
  visits_.assign(blocks_.size(), {});
  ++phase_;
  have_met_ = false;
}

std::optional<unsigned> ClusterMemory::owner_of(std::uint64_t address) const {
  for (unsigned number = 0; number < blocks(); ++number) {
    if (blocks_[number]->shared().is_dynamic(address)) return number;
  }
  constexpr std::uint64_t shortly = 4096;
  for (unsigned number = 0; number < blocks(); ++number) {
    const SharedMemory& shared = blocks_[number]->shared();
    const std::uint64_t beyond = address - shared.dynamic_begin();
    if (shared.dynamic_bytes() > 0 && beyond < 2 * shared.dynamic_bytes() + shortly) return number;
  }
  return std::nullopt;
}

std::uint64_t ClusterMemory::begin_of(unsigned number) const {
  return blocks_[number]->shared().dynamic_begin();
}

std::pair<std::string, std::uint64_t> ClusterMemory::home(unsigned number) const {
  return {"dynamic shared memory of block " + words(blocks_[number]->index()),
          blocks_[number]->shared().dynamic_begin()};
}

std::string ClusterMemory::place(unsigned of, std::uint64_t offset, unsigned bytes) const {
  return "bytes " + std::to_string(offset) + ".." + std::to_string(offset + bytes - 1) + " of " +
         home(of).first;
}

std::string ClusterMemory::mistake(unsigned of, std::uint64_t address, unsigned bytes,
                                   EventKind kind) const {
  const SharedMemory& shared = blocks_[of]->shared();
  const std::uint64_t offset = address - shared.dynamic_begin();
  if (address % bytes != 0) {
    return "misaligned " + access(bytes, kind) + " at " + place(of, offset, bytes);
  }
  if (offset + bytes <= shared.dynamic_bytes()) return "";
  return "out of bounds: " + access(bytes, kind) + " at byte " + std::to_string(offset) + " of " +
         std::to_string(shared.dynamic_bytes()) + " of " + home(of).first;
}

std::string ClusterMemory::race(unsigned by, unsigned of, std::uint64_t offset, unsigned bytes,
                                EventKind kind) {
  const std::size_t own = number_of(kind);
  for (std::uint64_t i = offset / word_bytes; i * word_bytes < offset + bytes; ++i) {
    Word& word = words_[of][i];
    constexpr EventKind names[] = {EventKind::load, EventKind::store, EventKind::atomic};
    for (std::size_t other = 0; other < kinds; ++other) {
      // Two loads are in order however they come, and so are two atomics.
      if (other == own && kind != EventKind::store) continue;
      if (!have_others(word[other], by)) continue;
      return "race: " + access(bytes, kind) + " at " + place(of, offset, bytes) + ", and a " +
             name_of(names[other]) +
             " there by another block of the cluster, with no cluster "
             "barrier between them,";
    }
    const bool is_first = word[own].phase != phase_;
    if (is_first) word[own] = {phase_, static_cast<std::uint16_t>(by)};
    word[own].several |= word[own].block != by;
  }
  return "";
}

std::string ClusterMemory::note_remote(unsigned by, unsigned of, std::uint64_t address,
                                       unsigned bytes, EventKind kind, const void* code) {
  const std::uint64_t offset = address - blocks_[of]->shared().dynamic_begin();
  if (!have_met_) {
    return access(bytes, kind) + " at " + place(of, offset, bytes) +
           ", which need not have begun before the cluster has met,";
  }
  std::string found = race(by, of, offset, bytes, kind);
  if (!found.empty()) return found;
  MemoryChecker& theirs = blocks_[of]->recorder().checker();
  const std::uint64_t at = blocks_[of]->shared().offset_of(address);
  if (!theirs.note_remote(at, bytes, kind)) {
    return access(bytes, kind) + " at " + place(of, offset, bytes) +
           ", not all of which its block has written,";
  }
  visits_[of] = {phase_, bytes, kind, threadIdx, blockIdx, code};
  return "";
}

std::string ClusterMemory::note_copy(unsigned by, unsigned of, std::uint64_t address,
                                     unsigned bytes) {
  const std::uint64_t offset = address - blocks_[of]->shared().dynamic_begin();
  constexpr EventKind names[] = {EventKind::load, EventKind::store, EventKind::atomic};
  for (std::uint64_t i = offset / word_bytes; i * word_bytes < offset + bytes; ++i) {
    Word& word = words_[of][i];
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      if (!have_others(word[kind], by)) continue;
      return "race: bulk copy to " + place(of, offset, bytes) + ", and a " + name_of(names[kind]) +
             " there by another block of the cluster, with no cluster barrier between them,";
    }
    // From here on it is as if the block had asked for it itself.
    word[number_of(EventKind::store)] = {phase_, static_cast<std::uint16_t>(of)};
  }
  if (!blocks_[of]->recorder().checker().begin_copy_by_another(
          blocks_[of]->shared().offset_of(address), bytes)) {
    return "bulk copy to " + place(of, offset, bytes) +
           ", before anybody has waited for the copy that it replaces,";
  }
  return "";
}

std::string ClusterMemory::leaves_early(unsigned number) const {
  const Visit& visit = visits_[number];
  return "block " + words(blocks_[number]->index()) + " may have ended before the " +
         access(visit.bytes, visit.kind) + " to its shared memory by thread " +
         words(visit.thread) + " of block " + words(visit.block) + " at " +
         source_location(visit.code) + ": no cluster barrier follows";
}

std::string ClusterMemory::meet() {
  for (unsigned number = 0; number < blocks(); ++number) {
    const bool has_ended = !blocks_[number]->lanes().has_live_lanes();
    if (has_ended && visits_[number].phase == phase_) return leaves_early(number);
  }
  ++phase_;
  have_met_ = true;
  return "";
}

std::string ClusterMemory::end() const {
  for (unsigned number = 0; number < blocks(); ++number) {
    if (visits_[number].phase == phase_) return leaves_early(number);
  }
  return "";
}

}  // namespace gpubench::model
