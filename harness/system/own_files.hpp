// The files that come with the program and are read by people: kernels, device files, labs.
#pragma once

#include <filesystem>
#include <optional>

namespace gpubench {

// The environment variable that names the prefix or checkout of a program that lies elsewhere.
inline constexpr const char* own_files_variable = "GPUBENCH_ROOT";

struct OwnFiles {
  std::filesystem::path kernels, devices, labs;  // folders
};

// Those of the installation or checkout `root`. Absent: it is neither.
std::optional<OwnFiles> own_files_in(const std::filesystem::path& root);

// This program's: those of the installation or checkout that it lies in (PREFIX/bin/gpubench, or
// CHECKOUT/build/gpubench), else those of the root that GPUBENCH_ROOT names. UsageError: that
// variable names neither an installation nor a checkout. Absent: the program lies elsewhere, and no
// root is named.
std::optional<OwnFiles> own_files();

}  // namespace gpubench
