// What --explain shows: one warp's accesses, site by site, and what the hardware makes of them.
// Only the model device sees lanes, so only it has explanations.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace gpubench {

inline constexpr unsigned explained_sector_bytes = 32;
inline constexpr unsigned explained_banks = 32;

// One line of source that accesses memory. Sums are over the requests of the explained warp; lanes
// and wavefronts are those of its first request.
struct ExplainedAccess {
  struct Lane {
    unsigned lane = 0;
    std::int64_t offset = 0;  // [bytes] from the beginning of `place`
  };
  // One pass over the banks: the lane that each bank serves (the lowest, of several), or -1.
  using Wavefront = std::array<int, explained_banks>;

  std::string where;  // "coalescing.cuh:52"
  bool shared = false;
  std::string kind;    // load, store or atomic
  unsigned bytes = 0;  // a lane
  std::string place;   // "an allocation of 4096 bytes", "'tile'"
  double requests = 0;
  double active_lanes = 0;  // summed
  double moved = 0;         // sectors, or wavefronts if shared
  double ideal = 0;         // what the same bytes would take at best
  std::vector<Lane> lanes;
  std::vector<Wavefront> wavefronts;  // if shared
};

struct Explanation {
  std::string kernel;
  std::array<unsigned, 3> block{};
  unsigned warp = 0;
  std::vector<ExplainedAccess> accesses;  // in the order of the warp's first request to each
  // By class, of a warp of this launch, on average.
  std::vector<std::pair<std::string, double>> instructions;
};

// `title` and every class with its number, in lines of at most 100 columns; "" if there is none.
std::string instructions_text(const std::string& title,
                              const std::vector<std::pair<std::string, double>>& instructions);
// For the terminal, at most 100 columns; ends with a newline.
std::string explanation_text(const Explanation& explanation);
// One entry of NAME.explain.json; keys as above, with "space" instead of `shared`.
nlohmann::ordered_json explanation_json(const Explanation& explanation);

}  // namespace gpubench
