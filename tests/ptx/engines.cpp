// ptx_tests: every test of kernels' results on both engines, the source's and nvcc's PTX, and the
// latter in every conduct that CUDA allows. Each must pass on each, and count the same where the
// audit says that the compiled code keeps the source's accesses
// (harness/platform/model/compiled/compiled.json), but for what PTX alone does to them
// (ptx_alone.json).
//
//   ptx_tests [--conducts=all] [--device=NAME] [--ptx=FOLDER] and GoogleTest's own flags
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "device_under_test.hpp"
#include "harness/platform/model/compiled/compiled.hpp"
#include "harness/platform/model/ptx/engine.hpp"

namespace gpubench {
namespace {

using Runs = std::vector<model::Emulator::Run>;

struct Iteration {
  std::string name;
  model::MakeEngine engine;  // none: the source's
};

std::vector<Iteration> iterations(model::ptx::Library& library, bool all) {
  const auto capability = device_spec(device_name_under_test).compute_capability();
  const auto with = [&](const model::ptx::Conduct& conduct) {
    return model::ptx::make_engine(library, capability, conduct);
  };
  std::vector<Iteration> chosen{
      {"source", {}},
      {"ptx", with({})},
      {"ptx, copies and wgmma late, shared memory 128 bytes up, random order",
       with({.late_copies = true,
             .late_products = true,
             .random_order = true,
             .shared_shift = 128,
             .seed = 1})},
  };
  if (!all) return chosen;
  chosen.push_back({"ptx, copies late", with({.late_copies = true})});
  chosen.push_back({"ptx, shared memory 640 bytes up", with({.shared_shift = 640})});
  for (const std::uint64_t seed : {3, 4, 5}) {
    chosen.push_back({"ptx, random order " + std::to_string(seed), with({.late_copies = seed == 5,
                                                                         .late_products = seed != 5,
                                                                         .random_order = true,
                                                                         .seed = seed})});
  }
  return chosen;
}

// "requests 4 and 8" where two engines counted differently; "" where they did not.
std::string difference(const model::AccessCounts& source, const model::AccessCounts& ptx) {
  std::ostringstream text;
  const auto compare = [&](const char* name, double a, double b) {
    if (a != b) text << ' ' << name << ' ' << a << " and " << b;
  };
  compare("requests", source.requests, ptx.requests);
  compare("lanes", source.lanes, ptx.lanes);
  compare("bytes", source.bytes, ptx.bytes);
  compare("sectors", source.sectors, ptx.sectors);
  compare("wavefronts", source.wavefronts, ptx.wavefronts);
  return text.str();
}

class Comparison : public testing::EmptyTestEventListener {
 public:
  explicit Comparison(std::vector<Iteration> all) : all_(std::move(all)) {
    after_each_device = [this](const Runs& runs) { runs_ = runs; };
    const auto [major, minor] = device_spec(device_name_under_test).compute_capability();
    const int here = 10 * major + minor;
    std::ifstream file(GPUBENCH_SOURCE_DIR "/tests/ptx/ptx_alone.json");
    for (const auto& one : nlohmann::json::parse(file)) {
      const std::vector<int> only = one.value("architectures", std::vector<int>{here});
      if (std::ranges::find(only, here) == only.end()) continue;
      ptx_alone_.emplace(one.at("kernel"), one.at("access"));
    }
  }
  void OnTestIterationStart(const testing::UnitTest&, int iteration) override {
    now_ = static_cast<std::size_t>(iteration);
    engine_under_test = all_[now_].engine;
    std::cout << "on " << all_[now_].name << '\n';
  }
  void OnTestStart(const testing::TestInfo&) override { runs_.clear(); }
  void OnTestEnd(const testing::TestInfo& test) override {
    const std::string name = std::string(test.test_suite_name()) + '.' + test.name();
    if (now_ == 0) {
      source_[name] = runs_;
      return;
    }
    if (test.result()->Skipped() || test.result()->Failed()) return;
    const Runs& source = source_[name];
    EXPECT_EQ(source.size(), runs_.size()) << "launches of " << name;
    for (std::size_t i = 0; i < std::min(source.size(), runs_.size()); ++i) {
      compare(source[i].profile, runs_[i].profile);
    }
  }

 private:
  void compare(const model::KernelProfile& source, const model::KernelProfile& ptx) {
    static const DeviceSpec device = device_spec(device_name_under_test);
    const auto* compiled = model::compiled_kernel(device, source.name);
    EXPECT_EQ(source.cluster, ptx.cluster) << source.name;
    EXPECT_EQ(source.counts.cluster_barriers, ptx.counts.cluster_barriers)
        << source.name << ", " << all_[now_].name;
    static constexpr const char* spaces[] = {"global", "shared"};
    static constexpr const char* kinds[] = {"load", "store", "atomic"};
    for (int space = 0; space < 2; ++space) {
      for (int kind = 0; kind < 3; ++kind) {
        const std::string access = std::string(spaces[space]) + ' ' + kinds[kind];
        if (compiled != nullptr && compiled->counts.contains(access)) continue;
        if (ptx_alone_.contains({source.name, access})) continue;
        const auto at = [&](const model::KernelProfile& p) {
          return p.counts.access[static_cast<std::size_t>(space)][static_cast<std::size_t>(kind)];
        };
        const std::string differs = difference(at(source), at(ptx));
        EXPECT_EQ(differs, "") << source.name << ", " << access << ", " << all_[now_].name;
      }
    }
  }

  std::vector<Iteration> all_;
  std::size_t now_ = 0;
  Runs runs_;                           // of the test at work
  std::map<std::string, Runs> source_;  // by test
  std::set<std::pair<std::string, std::string>> ptx_alone_;
};

int run(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  bool all = false;
  std::string folder = KERNEL_TESTS_PTX;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i], device = "--device=", ptx = "--ptx=";
    if (argument == "--conducts=all") {
      all = true;
    } else if (argument.starts_with(device)) {
      device_name_under_test = argument.substr(device.size());
    } else if (argument.starts_with(ptx)) {
      folder = argument.substr(ptx.size());
    } else {
      std::cerr << "ptx_tests: unknown argument " << argument
                << "; known are --conducts=all, --device=NAME|FILE, --ptx=FOLDER and GoogleTest's "
                   "(--help)\n";
      return 2;
    }
  }
  model::ptx::Library library;
  library.add_from(folder);
  const std::vector<Iteration> chosen = iterations(library, all);
  // Tests of counts have kernels of their own, which nvcc does not compile.
  const std::string filter = GTEST_FLAG_GET(filter);
  GTEST_FLAG_SET(filter, filter + (filter.find('-') == filter.npos ? "-" : ":") + "*Counts.*");
  GTEST_FLAG_SET(repeat, static_cast<int>(chosen.size()));
  testing::UnitTest::GetInstance()->listeners().Append(new Comparison(chosen));
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace gpubench

int main(int argc, char** argv) {
  try {
    return gpubench::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "ptx_tests: " << error.what() << '\n';
    return 1;
  }
}
