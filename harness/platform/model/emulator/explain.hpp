// One warp's requests, by the line of source that made them: what --explain shows.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "harness/platform/model/emulator/warp_requests.hpp"
#include "harness/records/explanation.hpp"

namespace gpubench::model {

// Fewest sectors that could hold the distinct bytes a request asks for.
unsigned ideal_sectors_of(const WarpRequest& request);
// Which lane each bank serves in each of the request's wavefronts, as wavefronts_of() counts them.
// Banks are counted from address `begin`, where in the hardware's memory that may lie.
std::vector<ExplainedAccess::Wavefront> wavefront_table(const WarpRequest& request,
                                                        std::uint64_t begin);

class Explainer {
 public:
  // What an address belongs to, and where that begins.
  using Home = std::function<std::pair<std::string, std::uint64_t>(std::uint64_t address)>;

  explicit Explainer(Home home) : home_(std::move(home)) {}

  // An access of which all lanes name memory of that kind.
  void add(const WarpRequest& request, Space space);
  std::vector<ExplainedAccess> accesses() && { return std::move(accesses_); }

 private:
  Home home_;
  std::vector<std::pair<Event, bool>> sites_;  // and whether they name shared memory
  std::vector<ExplainedAccess> accesses_;      // one a site
};

}  // namespace gpubench::model
