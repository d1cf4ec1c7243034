// The asynchronous copies into shared memory of a traced block, and who may use what they bring.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/platform/model/emulator/arrivals.hpp"
#include "harness/platform/model/emulator/memory_checker.hpp"
#include "harness/platform/model/emulator/shared_memory.hpp"

namespace gpubench::model {

// In shared memory, at `address`. A phase ends when its arrivals and its bytes are there.
struct Mbarrier {
  std::uint64_t address = 0;
  std::uint32_t begun_in = 0;  // the interval between barriers
  unsigned begun_by = 0;
  std::uint32_t begun_in_phase = 0;  // of the cluster
  bool is_announced = false;         // a fence for the cluster follows its initialisation
  bool others_arrive = false;        // and do, in the present phase
  bool others_arrived = false;       // and did, in the one before
  std::uint32_t phase = 0;           // how many have ended
  std::uint32_t arrivals = 1;        // of a phase
  std::uint32_t missing = 1;         // of the present one
  std::int64_t bytes = 0;            // expected and not there yet
  bool brings_copies = false;        // the present phase
  bool brought_copies = false;       // the one before
  std::uint32_t fmas_at_start = 0;   // of the lane that expected them
  std::uint32_t fmas_before = 0;
  std::uint32_t beside = 0;         // phases that were under way with its last one, at the most
  std::vector<std::uint32_t> seen;  // by lane: phases that it has seen end
  Arrivals::Known told, arriving;   // what those know who have seen the last phase end; the next
};

struct AsyncCopy {
  std::uint64_t to = 0;
  unsigned bytes = 0;
  unsigned lane = 0;  // that started it
  const void* code = nullptr;
  const Mbarrier* barrier = nullptr;  // a bulk copy's
  std::uint32_t group = 0;            // of its lane, or phase of its barrier
  bool arrives_in_peer = false;       // whether that is the even block's, and this the odd one
  // By warp: the arrival that follows its last wgmma from here, once that has been waited for;
  // `reading` until then, 0 if there was none.
  Arrivals::Known read = {};

  static constexpr std::uint32_t reading = ~std::uint32_t{0};
  bool is_seen_by(unsigned lane_) const {
    return barrier != nullptr && !arrives_in_peer && barrier->seen[lane_] > group;
  }
  // The same of a lane of the pair's even block.
  bool is_seen_in_pair(unsigned lane_) const {
    return arrives_in_peer && barrier->seen[lane_] > group;
  }
  // Whether some lane has seen the end of its phase: of a bulk copy.
  bool is_seen() const {
    return std::ranges::any_of(barrier->seen,
                               [this](std::uint32_t phases) { return phases > group; });
  }
};

class CopyLog {
 public:
  // Both must outlive the log.
  CopyLog(const SharedMemory& shared, MemoryChecker& checker)
      : shared_(shared), checker_(checker) {}

  void begin_block(unsigned lanes);
  // The copy is the last one into its words.
  void add(AsyncCopy copy);
  AsyncCopy& operator[](std::uint32_t index) { return copies_[index]; }

  static constexpr std::uint32_t none = ~std::uint32_t{0};
  // The last copy into a word of shared memory (by its number), an index, or `none`.
  std::uint32_t into_word(std::uint64_t word) const;
  const AsyncCopy* into(std::uint64_t address) const;
  // Whether the lane has itself waited for all the bulk copies into these bytes.
  bool may_use(std::uint64_t address, unsigned bytes, unsigned lane) const;
  // The copies that a lane has not waited for, but for bulk copies: indices.
  std::vector<std::uint32_t>& unwaited(unsigned lane) { return unwaited_[lane]; }
  // The block has met: what one thread has waited for is there for all. `of_cluster`: the cluster
  // has.
  void settle_seen(bool of_cluster);
  // This bulk copy has been replaced.
  void forget(std::uint32_t index) { std::erase(unsettled_, index); }

 private:
  const SharedMemory& shared_;
  MemoryChecker& checker_;
  std::vector<AsyncCopy> copies_;
  std::vector<std::uint32_t> last_into_word_;         // of shared memory: 1 + an index of copies_
  std::vector<std::vector<std::uint32_t>> unwaited_;  // by lane: indices of copies_
  std::vector<std::uint32_t> unsettled_;              // bulk copies
};

}  // namespace gpubench::model
