// Files that are written whole or not at all.
#pragma once

#include <filesystem>
#include <string>

namespace gpubench {

// Written beside itself, then renamed. UsageError names the path.
void write_file(const std::filesystem::path& path, const std::string& text);
// UsageError when write_file() could not succeed: asked before hours of measuring.
void check_writable(const std::filesystem::path& path);

}  // namespace gpubench
