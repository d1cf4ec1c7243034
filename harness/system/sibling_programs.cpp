#include "harness/system/sibling_programs.hpp"

#include <array>
#include <string_view>

#include "harness/system/error.hpp"

namespace gpubench {
namespace {

constexpr std::array<std::string_view, 2> suffixes{"-model", "-cuda"};  // by Half

}  // namespace

std::filesystem::path path_of(Half half) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  std::string name = self.filename().string();
  for (const std::string_view suffix : suffixes) {
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  }
  return self.parent_path() / name.append(suffixes[static_cast<std::size_t>(half)]);
}

bool has_half(Half half) { return std::filesystem::exists(path_of(half)); }

std::string half_of_program(Half half) {
  const auto path = path_of(half);
  if (!std::filesystem::exists(path)) {
    throw UsageError(path.filename().string() + " was not built; it belongs at " + path.string());
  }
  return path.string();
}

}  // namespace gpubench
