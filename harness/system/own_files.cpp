#include "harness/system/own_files.hpp"

#include <cstdlib>
#include <string>

#include "harness/system/error.hpp"

namespace gpubench {

std::optional<OwnFiles> own_files_in(const std::filesystem::path& root) {
  // As packaging/install.cmake lays them out, and as the checkout does.
  const OwnFiles layouts[] = {
      {root / "include/gpubench/kernels", root / "share/gpubench/devices",
       root / "share/gpubench/course/labs"},
      {root / "kernels", root / "harness/devices", root / "labs"},
  };
  for (const OwnFiles& files : layouts) {
    if (is_directory(files.kernels) && is_directory(files.devices)) return files;
  }
  return std::nullopt;
}

std::optional<OwnFiles> own_files() {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  if (auto files = own_files_in(program.parent_path().parent_path())) return files;
  const char* const root = std::getenv(own_files_variable);
  if (root == nullptr) return std::nullopt;
  auto files = own_files_in(root);
  if (!files) {
    throw UsageError(std::string(own_files_variable) + "='" + root +
                     "': neither an installation nor a checkout of gpubench");
  }
  return files;
}

}  // namespace gpubench
