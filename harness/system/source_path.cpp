#include "harness/system/source_path.hpp"

namespace gpubench {

std::string source_path(std::string_view file) {
  constexpr std::string_view own = __FILE__, in_tree = "harness/system/source_path.cpp";
  constexpr std::string_view root = own.substr(0, own.size() - in_tree.size());
  if (file.starts_with(root)) return std::string(file.substr(root.size()));
  std::size_t begin = file.rfind("/bench/");  // of a folder of concepts
  if (begin == file.npos) begin = file.rfind('/');
  return std::string(file.substr(begin + 1));
}

}  // namespace gpubench
