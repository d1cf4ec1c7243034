#include "harness/platform/model/emulator/source_location.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <sstream>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gpubench::model {

namespace {

struct Places {
  const void* begin;
  const void* end;
  std::function<std::string(const void*)> place;
};
std::mutex mutex;
std::vector<Places> places;  // that are no code

// Where the program itself lies. Kernels are in it, and in no library.
const void* program_begin() {
  static const char in_program = 0;
  Dl_info info{};
  return dladdr(&in_program, &info) == 0 ? nullptr : info.dli_fbase;
}

std::string look_up(const void* return_address) {
  for (const Places& p : places) {
    const bool inside =
        !std::less<>()(return_address, p.begin) && std::less<>()(return_address, p.end);
    if (inside) return p.place(return_address);
  }
  const auto* call = static_cast<const char*>(return_address) - 1;
  Dl_info info{};
  if (dladdr(call, &info) == 0 || info.dli_fname == nullptr) return "an unknown place";
  std::string symbol = info.dli_sname != nullptr ? info.dli_sname : "an unknown line";
  if (info.dli_fbase != program_begin()) return symbol;
  // binutils' own reader of debug information: there wherever the compiler is.
  std::ostringstream command;
  command << "addr2line -i -e '" << std::filesystem::read_symlink("/proc/self/exe").string()
          << "' 0x" << std::hex
          << (reinterpret_cast<std::uintptr_t>(call) -
              reinterpret_cast<std::uintptr_t>(info.dli_fbase))
          << " 2>/dev/null";
  // A line for each function that was inlined there, innermost first; ours is not the kernel's.
  std::string line;
  if (FILE* pipe = popen(command.str().c_str(), "r")) {
    std::array<char, 512> piece{};
    while (fgets(piece.data(), piece.size(), pipe) != nullptr) {
      line = piece.data();
      if (line.find("/harness/platform/model/include/") == std::string::npos) break;
    }
    pclose(pipe);
  }
  line.erase(0, line.rfind('/') + 1);
  line.resize(std::min(line.size(), line.find_first_of(" \n")));
  return !line.empty() && line[0] != '?' ? line : symbol;
}

}  // namespace

std::string source_location(const void* return_address) {
  static std::unordered_map<const void*, std::string> known;
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = known.try_emplace(return_address);
  if (is_new) entry->second = look_up(return_address);
  return entry->second;
}

void add_places(const void* begin, const void* end, std::function<std::string(const void*)> place) {
  const std::lock_guard lock(mutex);
  places.push_back({begin, end, std::move(place)});
}

}  // namespace gpubench::model
