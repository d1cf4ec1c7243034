// Copies into shared memory by the copy engine, which arrive at an mbarrier (cp.async.bulk).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/platform/model/emulator/block.hpp"
#include "harness/platform/model/emulator/mbarriers.hpp"
#include "harness/platform/model/emulator/warpgroup_reads.hpp"
#include "harness/platform/model/memory/tensor_map.hpp"

namespace gpubench::model {

class BulkCopies {
 public:
  BulkCopies(Block& block, Mbarriers& mbarriers, WarpgroupReads& reads)
      : block_(block), mbarriers_(mbarriers), reads_(reads) {}

  void begin_block() {
    late_copies_.clear();
    by_others_.clear();
    cluster_.clear();
  }
  // The blocks of the cluster, by rank; they must outlive the block.
  void join(std::vector<BulkCopies*> cluster) { cluster_ = std::move(cluster); }
  // Nobody can run: what somebody waits for lands, and nothing else. False: there is no such copy.
  bool land_late();
  // What the block has left behind at its end: a copy by another block of its cluster; or "".
  std::string leftover() const;

  // Where a copy lands: in these blocks of the cluster, a bit each by rank; or in this one.
  using Ranks = std::optional<std::uint16_t>;
  // Where it arrives: at the mbarrier of each block that it lands in; or, where it lands in this
  // one alone, at that of the pair's even block.
  enum class Arrival : std::uint8_t { here, in_even_block };

  // --- from a lane ---
  // Bytes in a row.
  void copy(void* to_shared, const void* from_global, std::size_t bytes, void* barrier,
            const void* code, Ranks ranks = {});
  // A box of a matrix that a tensor map describes.
  void copy_box(void* to_shared, const void* map, unsigned column, unsigned row, void* barrier,
                const void* code, Ranks ranks = {}, Arrival arrival = Arrival::here);

 private:
  struct Box {
    TensorMap of;
    unsigned column, row;
    std::uint32_t row_bytes;
    std::uint64_t to;

    std::uint64_t from(std::uint32_t i) const;         // of its row i
    std::uint32_t bytes_there(std::uint32_t i) const;  // of this row, that lie in the matrix
  };

  // What is still to land of a copy: `bytes` of it exist, the rest of `room` is zeros.
  struct Piece {
    std::uint64_t to = 0, from = 0;
    std::uint32_t bytes = 0, room = 0;
  };
  // A copy that has not landed, and where it then arrives.
  struct LateCopy {
    Mbarrier* barrier = nullptr;
    unsigned bytes = 0;
    std::vector<Piece> pieces{};
  };

  // A block that a copy lands in, how far away its memory is, and its mbarrier there.
  struct Landing {
    BulkCopies* in = nullptr;
    std::uint64_t away = 0;
    Mbarrier* barrier = nullptr;
  };

  // --- in multicast.cpp ---
  std::vector<Landing> landings_of(std::uint64_t to, std::size_t bytes, void* barrier,
                                   const void* code, Ranks ranks);
  Landing landing_in(unsigned rank, std::uint64_t to, std::size_t bytes, const void* barrier,
                     const void* code);
  void arrive_from(unsigned rank, const Landing& landing, std::uint64_t to, unsigned bytes,
                   const void* code);

  void bring(const std::vector<Landing>& landings, Piece piece);
  void bring(const Piece& piece);
  static void land(const Piece& piece);
  void bring_row(const Box& box, std::uint32_t i, const std::vector<Landing>& landings,
                 const void* code);
  void bring_lines(std::uint64_t to, std::uint64_t from, std::size_t bytes, std::size_t landings,
                   const void* code);
  void record(EventKind kind, std::uint64_t address, std::uint64_t bytes, const void* code);
  void arrive(const std::vector<Landing>& landings, std::uint64_t to, unsigned bytes,
              const void* code);
  void arrive_here(Mbarrier& barrier, std::uint64_t to, unsigned bytes, const void* code);
  void set_out(Mbarrier& barrier, unsigned bytes);

  Block& block_;
  Mbarriers& mbarriers_;
  WarpgroupReads& reads_;
  std::vector<Piece> late_pieces_;  // of the copy that is being made
  std::vector<LateCopy> late_copies_;
  std::vector<BulkCopies*> cluster_;
  std::vector<AsyncCopy> by_others_;  // copies by other blocks
};

}  // namespace gpubench::model
