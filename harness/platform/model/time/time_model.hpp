// How long a kernel takes: the largest of what each part of the GPU needs for it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/devices/device.hpp"
#include "harness/platform/model/emulator/counts.hpp"
#include "harness/platform/model/emulator/footprint.hpp"
#include "harness/platform/model/time/cache_model.hpp"
#include "harness/platform/model/time/occupancy.hpp"

namespace gpubench::model {

// What a warp waits for: its own loads and multiply-adds.
struct Waiting {
  double load_groups = 0;    // runs of independent global loads, and copies that nothing hides
  double load_chain = 0;     // global loads whose address is what the load before brought
  double shared_chain = 0;   // the same in shared memory
  double remote_groups = 0;  // of shared memory of other blocks of the cluster, as the first two
  double remote_chain = 0;
  double copy_waits = 0;  // asynchronous copies, while multiply-adds go on, in latencies
  double fma_chain = 0;   // fp32 multiply-adds that wait for one another
  double fma_steps = 0;   // those that it issues one after the other

  double loads() const;   // latencies of global memory, one after the other
  double remote() const;  // and of other blocks' shared memory
  Waiting& operator+=(const Waiting& other);
  void keep_longer(const Waiting& other);  // of each
};

// A kernel as the emulator saw it. Counts and footprints are of the traced blocks.
struct KernelProfile {
  std::string name;
  int device = 0;                       // that runs it; memory of others is reached over the link
  double blocks = 0;                    // of the whole grid
  std::array<double, 3> grid{1, 1, 1};  // its extent
  double traced_blocks = 0;
  unsigned threads_per_block = 0;
  unsigned cluster = 1;              // blocks that run together
  bool cooperative = false;          // all blocks may meet
  bool has_guessed_structs = false;  // of an alignment that is not known (BlockResult)
  std::size_t shared_bytes = 0;      // static, as far as known, and dynamic
  unsigned registers = 0;            // a thread; 0: not known, and then no limit
  unsigned tensor_columns = 0;       // of tensor memory, a block
  std::size_t local_bytes = 0;       // a thread
  double local_words = 0;            // that warps load from and store to there, 4 bytes per lane
  Counts counts;
  std::vector<FootprintSums> footprints;
  double host_bytes_read = 0, host_bytes_written = 0;  // of the host's memory
  Waiting waits;  // of each block's slowest warp, which it lasts as long as; summed over blocks

  double scale() const { return traced_blocks > 0 ? blocks / traced_blocks : 0; }
};

// Where a kernel's global accesses are served, whole grid.
struct Traffic {
  double l1_bytes = 0;       // through the data banks of L1, idle lanes of a pass included
  double shared_bytes = 0;   // the same of shared memory, but for what loads return packed
  double l2_sectors = 0;     // that left the SMs for this device's L2
  double l2_idle_bytes = 0;  // that L2 could have moved meanwhile: beside sectors read alone or
                             // written in part
  double link_bytes = 0;     // to or from other devices, whichever direction has more
  double link_seconds = 0;   // for these, and for what is the host's
  double dram_read_bytes = 0;
  double dram_write_bytes = 0;
  double dram_idle_bytes = 0;   // that memory could have read while it was on the way elsewhere
  double l1_hit_fraction = 0;   // of the sectors read
  double l1_wait_fraction = 0;  // of the sectors that loads wait for: served by L1
  double l2_hit_fraction = 0;   // of the sectors that left the SMs to be read
  double l2_wait_fraction = 0;  // of those that loads wait for beyond L1: served by L2
  double l2_far_fraction = 0;   // of these, the ones that another partition of L2 had
};

struct Term {
  // link (where there are peers), dsm (where blocks of a cluster share memory), dram, l2, l1,
  // shared, issue, fp32, fp64, fp16x2, bf16x2, int32, tensor, sfu, latency, launch; and queue, what
  // waiting for a busy memory adds to dram or latency
  std::string name;
  double seconds = 0;
};

struct Prediction {
  double seconds = 0;
  std::string bound;        // the name of the largest term but queue
  std::string roof;         // the roof of that: the same name, of `tensor` one for each type
  double utilisation = 0;   // of the device's busiest unit: its term over `seconds`
  std::vector<Term> terms;  // in the order above
  Occupancy occupancy;
  Traffic traffic;
};

// How much of an allocation L2 still holds.
using L2Contents = std::function<Held(const FootprintSums&)>;

Prediction predict(const KernelProfile& profile, const DeviceSpec& device,
                   const L2Contents& contents);

}  // namespace gpubench::model
