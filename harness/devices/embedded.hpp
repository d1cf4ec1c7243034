#pragma once

#include <span>
#include <string_view>

namespace gpubench {

struct EmbeddedFile {
  std::string_view stem;
  std::string_view text;
};

// The device files of this directory, put into the library by CMake, sorted by stem.
std::span<const EmbeddedFile> embedded_device_files();

}  // namespace gpubench
