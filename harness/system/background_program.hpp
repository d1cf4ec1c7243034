// A program that works beside this one and never in its way.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gpubench {

// At the lowest priority; what it says on standard error goes to a file, the rest nowhere. It ends
// with this object, or with the thread that made it.
class BackgroundProgram {
 public:
  // `cpus`: the only ones that it runs on; none: as this process. UsageError: it cannot be started.
  BackgroundProgram(const std::vector<std::string>& command, const std::filesystem::path& errors,
                    const std::vector<int>& cpus);
  BackgroundProgram(const BackgroundProgram&) = delete;
  BackgroundProgram& operator=(const BackgroundProgram&) = delete;
  ~BackgroundProgram();

  // nullopt: it is still running. 128 + N when signal N ended it.
  std::optional<int> exit_code();

 private:
  pid_t process_ = -1;
  std::optional<int> exit_code_;
};

}  // namespace gpubench
