// The limits of a container or a service, from files as the kernel shows them.
#include "harness/system/control_groups.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "harness/system/cores.hpp"
#include "harness/system/host_memory.hpp"

namespace gpubench {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::Optional;

class ControlGroups : public testing::Test {
 protected:
  ~ControlGroups() override { fs::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }

  const fs::path root_ =
      fs::path(testing::TempDir()) / ("gpubench-groups-" + std::to_string(getpid()));
};

TEST_F(ControlGroups, OfTheSecondVersionAreOneTree) {
  EXPECT_THAT(folders_of("cpu", "/r", "4:memory:/x\n0::/user.slice/build.service\n"),
              ElementsAre("/r", "/r/user.slice/build.service", "/r/user.slice"));
  EXPECT_THAT(folders_of("cpu", "/r", "0::/\n"), ElementsAre("/r"));
}

TEST_F(ControlGroups, OfTheFirstVersionAreATreePerController) {
  const std::string groups = "4:memory:/docker/1a\n3:cpu,cpuacct:/a:b\n2:cpuset:/y\n";
  EXPECT_THAT(folders_of("memory", "/r", groups),
              ElementsAre("/r/memory", "/r/memory/docker/1a", "/r/memory/docker"));
  EXPECT_THAT(folders_of("cpu", "/r", groups), ElementsAre("/r/cpu", "/r/cpu/a:b"));
}

TEST_F(ControlGroups, GrantProcessorTime) {
  EXPECT_EQ(granted_cpus("200000 100000"), 2u);
  EXPECT_EQ(granted_cpus("150000 100000\n"), 2u);
  EXPECT_EQ(granted_cpus("5000 100000"), 1u);
  EXPECT_EQ(granted_cpus("max 100000"), std::nullopt);
  EXPECT_EQ(granted_cpus(""), std::nullopt);
}

TEST_F(ControlGroups, OfTheSecondVersionLimitByTheTightestAroundAProcess) {
  write("cpu.max", "max 100000");
  write("jobs.slice/cpu.max", "250000 100000");
  write("jobs.slice/own.service/cpu.max", "400000 100000");
  write("jobs.slice/memory.max", "4000000000");
  write("jobs.slice/memory.current", "3000000000");
  write("jobs.slice/memory.stat", "anon 900000000\ninactive_file 2000000000");
  write("jobs.slice/own.service/memory.max", "max");
  write("jobs.slice/own.service/memory.current", "1000000");
  const GroupLimits limits = group_limits(root_, "0::/jobs.slice/own.service\n");
  EXPECT_THAT(limits.cpus, Optional(3u));
  EXPECT_THAT(limits.free_bytes, Optional(3e9));  // files that were only read are no obstacle
}

TEST_F(ControlGroups, OfTheFirstVersionLimitToo) {
  write("cpu/cpu.cfs_quota_us", "200000");
  write("cpu/cpu.cfs_period_us", "100000");
  write("memory/memory.limit_in_bytes", "2000000000");
  write("memory/memory.usage_in_bytes", "500000000");
  write("memory/memory.stat", "inactive_file 7\ntotal_inactive_file 100000000");
  // As in a container, which names groups of its host and sees its own as the root.
  const GroupLimits limits = group_limits(root_, "4:memory:/docker/1a\n1:cpu,cpuacct:/docker/1a\n");
  EXPECT_THAT(limits.cpus, Optional(2u));
  EXPECT_THAT(limits.free_bytes, Optional(1.6e9));
}

TEST_F(ControlGroups, MayLimitNothing) {
  write("cpu/cpu.cfs_quota_us", "-1");
  write("cpu/cpu.cfs_period_us", "100000");
  write("memory/memory.limit_in_bytes", "not a number");
  const GroupLimits limits = group_limits(root_, "4:memory:/\n1:cpu:/\nwithout colons\n");
  EXPECT_EQ(limits.cpus, std::nullopt);
  EXPECT_EQ(limits.free_bytes, std::nullopt);
}

TEST_F(ControlGroups, BoundWhatThisProcessUses) {
  EXPECT_GE(usable_cpus(), 1u);
  EXPECT_LE(usable_cpus(), allowed_cpus().size());
  const auto free = available_bytes();
  ASSERT_TRUE(free);
  EXPECT_GT(*free, 0);
}

}  // namespace
}  // namespace gpubench
