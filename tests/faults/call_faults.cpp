// Makes every call site of CUDA's runtime and of NCCL fail once, on the model device.
//
//   gpubench-call-faults [REGEX]   of the kernels whose "concept/kernel" matches
//
// A site is a function of the API, and who calls it: three frames of the stack. Each kernel's first
// row is run once to find the sites that no row before it has, then once for each of them, with the
// first call from there failing. A line of JSON per site says what became of the row. The exit code
// is 1 when a row did not end as one that has met an error must, or could not be run afterwards.
#include <execinfo.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "harness/bench/registry.hpp"
#include "harness/bench/run_row.hpp"
#include "harness/platform/model/runtime/runtime.hpp"
#include "harness/platform/platform.hpp"

namespace gpubench {
namespace {

constexpr const char* device = "h200-sxm";

using Site = std::tuple<std::string, const void*, const void*, const void*>;

// A loop calls from one place thousands of times, and a look at the stack takes long.
class Sites {
 public:
  // nullopt: one that has been asked for often enough.
  std::optional<Site> of(const char* function, const void* caller) {
    constexpr int often = 50;
    if (caller == nullptr || ++asked_[{function, caller}] > often) return std::nullopt;
    std::array<void*, 32> frames{};
    const auto count = static_cast<std::size_t>(backtrace(frames.data(), frames.size()));
    const auto at = static_cast<std::size_t>(
        std::find(frames.begin(), frames.begin() + count, caller) - frames.begin());
    const auto above = [&](std::size_t n) { return at + n < count ? frames[at + n] : nullptr; };
    return Site(function, caller, above(1), above(2));
  }

 private:
  std::map<std::pair<std::string, const void*>, int> asked_;
};

// Runs the row on a device of its own, with `filter` looking at every call.
Row run_filtered(const Instance& row, const model::Runtime::CallFilter& filter) {
  const auto platform = open_platform(device);
  model::current_runtime()->filter_calls(filter);
  return run_row(row, *platform, BenchSettings{});
}

std::vector<Site> new_sites(const Instance& row, std::set<Site>& known) {
  std::vector<Site> found;
  Sites sites;
  run_filtered(row, [&](const char* function, const void* caller) {
    if (const auto site = sites.of(function, caller); site && known.insert(*site).second) {
      found.push_back(*site);
    }
    return cudaSuccess;
  });
  return found;
}

// Fails the first call from there. False: none came.
bool fail_once(const Instance& instance, const Site& failing, Row& row) {
  Sites sites;
  bool has_failed = false;
  row = run_filtered(instance, [&](const char* function, const void* caller) {
    if (has_failed || std::get<0>(failing) != function) return cudaSuccess;
    has_failed = sites.of(function, caller) == failing;
    return has_failed ? cudaErrorUnknown : cudaSuccess;
  });
  return has_failed;
}

// What is wrong with how the row ended; "" for nothing.
std::string complaint(const Row& row, bool has_failed) {
  if (!has_failed) return "the call did not come again";
  if (row.outcome == Outcome::measured) return "";  // the call's failure did not matter
  if (row.reason.empty()) return "no reason is given";
  if (row.reason.find('\n') != std::string::npos) return "the reason is more than a line";
  if (row.outcome == Outcome::failed && row.error_kind.empty()) return "the failure has no kind";
  return "";
}

int run_all(const std::regex& wanted) {
  std::set<std::string> kernels;
  std::set<Site> known;
  bool is_good = true;
  for (const Instance& instance : instances(Suite::quick)) {
    const std::string kernel = instance.topic + "/" + instance.kernel;
    if (!std::regex_search(kernel, wanted) || !kernels.insert(kernel).second) continue;
    const std::vector<Site> sites = new_sites(instance, known);
    if (sites.empty()) continue;  // it has no call of its own
    for (const Site& site : sites) {
      Row row;
      std::cerr << instance.name << ": " << std::get<0>(site)
                << std::endl;  // the last before a crash
      const bool has_failed = fail_once(instance, site, row);
      const std::string wrong = complaint(row, has_failed);
      is_good = is_good && wrong.empty();
      const char* const outcomes[] = {"measured", "skipped", "failed"};
      nlohmann::ordered_json line = {{"row", instance.name},
                                     {"function", std::get<0>(site)},
                                     {"outcome", outcomes[static_cast<int>(row.outcome)]}};
      if (row.outcome != Outcome::measured) line["reason"] = row.reason;
      if (row.outcome == Outcome::failed) line["error_kind"] = row.error_kind;
      if (!wrong.empty()) line["wrong"] = wrong;
      std::cout << line.dump() << std::endl;
    }
    const Row after = run_filtered(instance, nullptr);
    if (after.outcome == Outcome::failed) {
      std::cout << nlohmann::json{{"row", instance.name}, {"wrong", after.reason}}.dump() << '\n';
      is_good = false;
    }
  }
  return is_good ? 0 : 1;
}

}  // namespace
}  // namespace gpubench

int main(int argc, char** argv) { return gpubench::run_all(std::regex(argc > 1 ? argv[1] : "")); }
