#include "harness/platform/model/launch/symbols.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/system/demangle.hpp"

namespace gpubench::model {
namespace {

// The program's own file, or nothing if it cannot be read. Mapped: it has many megabytes, and few
// of them are looked at.
std::string_view own_file() {
  static const std::string_view content = []() -> std::string_view {
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (file < 0) return {};
    struct stat status {};
    const std::size_t bytes =
        fstat(file, &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
    const void* begin = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (begin == MAP_FAILED) return {};
    return {static_cast<const char*>(begin), bytes};
  }();
  return content;
}

// Calls `visit(symbol, name)` for what the program's own symbol table has of type `type`. (dladdr()
// sees exported symbols only, and kernels are static.)
template <class Visit>
void each_symbol(unsigned type, Visit&& visit) {
  const std::string_view image = own_file();
  const auto inside = [&](std::size_t offset, std::size_t bytes) {
    return offset <= image.size() && bytes <= image.size() - offset;
  };
  ElfW(Ehdr) header;
  if (!inside(0, sizeof header)) return;
  std::memcpy(&header, image.data(), sizeof header);
  std::vector<ElfW(Shdr)> sections(header.e_shnum);
  if (!inside(header.e_shoff, sections.size() * sizeof(ElfW(Shdr)))) return;
  std::memcpy(sections.data(), image.data() + header.e_shoff, sections.size() * sizeof(ElfW(Shdr)));

  for (const ElfW(Shdr) & table : sections) {
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= sections.size()) continue;
    const ElfW(Shdr)& strings = sections[table.sh_link];
    if (!inside(table.sh_offset, table.sh_size) || !inside(strings.sh_offset, strings.sh_size)) {
      continue;
    }
    for (std::size_t at = 0; at + sizeof(ElfW(Sym)) <= table.sh_size; at += sizeof(ElfW(Sym))) {
      ElfW(Sym) symbol;
      std::memcpy(&symbol, image.data() + table.sh_offset + at, sizeof symbol);
      if (ELF64_ST_TYPE(symbol.st_info) != type || symbol.st_shndx == SHN_UNDEF) continue;
      if (symbol.st_name >= strings.sh_size) continue;
      visit(symbol, image.data() + strings.sh_offset + symbol.st_name);
    }
  }
}

std::map<std::uintptr_t, std::string> read_functions() {
  std::map<std::uintptr_t, std::string> functions;
  std::uintptr_t base = 0;  // the program itself comes first
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        *static_cast<std::uintptr_t*>(result) = info->dlpi_addr;
        return 1;
      },
      &base);
  each_symbol(STT_FUNC, [&](const ElfW(Sym) & symbol, const char* name) {
    functions.emplace(base + symbol.st_value, name);
  });
  return functions;
}

// Types that are aliases here and types of their own in CUDA: as CUDA spells them.
std::string with_cuda_types(std::string name) {
  static const auto types = [] {
    std::vector<std::pair<std::string, std::string>> all;
#define GPUBENCH_TYPE(type) all.emplace_back(demangled(typeid(type).name()), #type)
    GPUBENCH_TYPE(__half);
    GPUBENCH_TYPE(__half2);
    GPUBENCH_TYPE(__nv_bfloat16);
    GPUBENCH_TYPE(__nv_bfloat162);
    GPUBENCH_TYPE(__nv_fp8_e4m3);
    GPUBENCH_TYPE(__nv_fp8_e5m2);
#undef GPUBENCH_TYPE
    return all;
  }();
  for (const auto& [ours, cudas] : types) {
    for (std::size_t at = name.find(ours); at != std::string::npos; at = name.find(ours, at)) {
      name.replace(at, ours.size(), cudas);
      at += cudas.size();
      // The demangler parts two closing brackets, and one of them is gone.
      if (name.compare(at, 2, " >") == 0) name.erase(at, 1);
    }
  }
  return name;
}

// Whether a thread-local variable is the model's or the harness's own. Those of kernels stand in
// functions, and none of these in the model's namespace.
bool is_of_this_program(std::string_view name) {
  constexpr std::string_view ours = "gpubench::", unnamed = "(anonymous namespace)::";
  if (!name.starts_with(ours)) return false;
  if (name.starts_with("gpubench::model::")) return true;
  name.remove_prefix(ours.size());
  if (name.starts_with(unnamed)) name.remove_prefix(unnamed.size());
  return name.find('(') == std::string_view::npos;
}

}  // namespace

const char* linker_name(const void* function) {
  static const auto symbols = read_functions();
  const auto found = symbols.find(reinterpret_cast<std::uintptr_t>(function));
  return found == symbols.end() ? "" : found->second.c_str();
}

std::string decoded_name(const char* linker_name) {
  // What C calls "d" is no double.
  if (!std::string_view(linker_name).starts_with("_Z")) return linker_name;
  return with_cuda_types(without_types(demangled(linker_name)));
}

const char* readable_name(const void* function) {
  static std::mutex mutex;
  static std::unordered_map<const void*, std::string> names;
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = names.try_emplace(function);
  if (is_new) {
    entry->second = decoded_name(linker_name(function));
    if (entry->second.empty()) {
      char text[32];
      std::snprintf(text, sizeof text, "%p", function);
      entry->second = text;
    }
  }
  return entry->second.c_str();
}

const std::vector<ThreadVariable>& thread_variables() {
  static const auto variables = [] {
    std::vector<ThreadVariable> found;
    each_symbol(STT_TLS, [&](const ElfW(Sym) & symbol, const char* linker) {
      const std::string name = demangled(linker);
      if (is_of_this_program(name)) return;
      const auto colon = name.rfind("::");
      found.push_back({symbol.st_value, symbol.st_size,
                       colon == std::string::npos ? name : name.substr(colon + 2)});
    });
    std::sort(found.begin(), found.end(),
              [](const ThreadVariable& a, const ThreadVariable& b) { return a.offset < b.offset; });
    return found;
  }();
  return variables;
}

}  // namespace gpubench::model
