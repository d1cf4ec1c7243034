#include "harness/platform/model/emulator/shared_memory.hpp"

#include <link.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "harness/platform/model/emulator/host_code.hpp"
#include "harness/platform/model/include/device_language.h"
#include "harness/platform/model/launch/symbols.hpp"

namespace gpubench::model {
namespace {

// Where the running program's variables are: its own (constants among them), and this thread's.
struct Image {
  std::uint64_t begin = ~std::uint64_t{0}, end = 0;
  std::uint64_t thread_begin = 0, thread_bytes = 0;
};

Image program_image() {
  Image image;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        auto* found = static_cast<Image*>(out);
        for (const ElfW(Phdr) & header : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
          if (header.p_type == PT_LOAD) {
            const std::uint64_t begin = info->dlpi_addr + header.p_vaddr;
            found->begin = std::min(found->begin, begin);
            found->end = std::max(found->end, begin + header.p_memsz);
          } else if (header.p_type == PT_TLS && info->dlpi_tls_data != nullptr) {
            found->thread_begin = reinterpret_cast<std::uint64_t>(info->dlpi_tls_data);
            found->thread_bytes = header.p_memsz;
          }
        }
        return 1;  // the program comes first; libraries hold no kernels
      },
      &image);
  return image;
}

}  // namespace

void SharedMemory::attach() {
  const Image image = program_image();
  static_begin_ = image.thread_begin;
  static_bytes_ = image.thread_bytes;
  program_begin_ = image.begin;
  program_bytes_ = image.end - image.begin;
  if (words_of_variables_.empty()) find_variables();
}

// Where symbols were stripped, every variable but ours may be a kernel's.
void SharedMemory::find_variables() {
  const std::size_t words = static_bytes_ / 4 + 1;
  const auto& variables = thread_variables();
  words_of_variables_.assign(words, variables.empty() ? Word::variable : Word::other);
  const auto mark = [&](std::uint64_t offset, std::uint64_t bytes, Word what) {
    const std::uint64_t end = std::min<std::uint64_t>((offset + bytes) / 4, words);
    for (std::uint64_t i = (offset + 3) / 4; i < end; ++i) words_of_variables_[i] = what;
  };
  for (const ThreadVariable& v : variables) {
    if (v.name == "gpubench_guarded_begin") own_begin_ = v.offset;
    if (v.name == "gpubench_guarded_end") own_end_ = v.offset;
  }
  for (const ThreadVariable& v : variables) {
    if (is_own(v.offset)) mark(v.offset, v.bytes, Word::variable);
  }
  const auto mark_ours = [&](const void* ours, std::size_t bytes, Word what) {
    mark(reinterpret_cast<std::uint64_t>(ours) - static_begin_, bytes, what);
  };
  mark_ours(&threadIdx, sizeof threadIdx, Word::builtin);
  mark_ours(&blockIdx, sizeof blockIdx, Word::builtin);
  mark_ours(&blockDim, sizeof blockDim, Word::builtin);
  mark_ours(&gridDim, sizeof gridDim, Word::builtin);
  mark_ours(&running_block, sizeof(void*), Word::other);
}

// Fresh shared memory reads as NaN, as fresh device memory does.
void SharedMemory::begin_block(std::size_t dynamic_bytes) {
  dynamic_bytes_ = dynamic_bytes;
  dynamic_.resize((dynamic_at + dynamic_bytes + sizeof(Piece) - 1) / sizeof(Piece));
  std::memset(dynamic_.data(), 0xFF, dynamic_.size() * sizeof(Piece));
  for (const std::size_t i : poisoned_) {
    const ThreadVariable& variable = thread_variables()[i];
    std::memset(reinterpret_cast<void*>(static_begin_ + variable.offset), 0xFF, variable.bytes);
  }
}

std::vector<std::size_t> SharedMemory::written_variables(const MemoryChecker& checker) const {
  std::vector<std::size_t> written;
  const auto& variables = thread_variables();
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const ThreadVariable& v = variables[i];
    for (std::uint64_t word = v.offset / 4; word * 4 < v.offset + v.bytes; ++word) {
      if (!checker.is_written(word)) continue;
      written.push_back(i);
      break;
    }
  }
  return written;
}

std::size_t SharedMemory::bytes_of(const std::vector<std::size_t>& variables) const {
  std::size_t bytes = 0;
  for (const std::size_t i : variables) bytes += thread_variables()[i].bytes;
  return bytes;
}

std::string SharedMemory::mistake(std::uint64_t address, unsigned bytes,
                                  const std::string& what) const {
  if (address % bytes != 0) {
    const auto [home, begin] = home_of(address);
    return "misaligned " + what + " at bytes " + std::to_string(address - begin) + ".." +
           std::to_string(address - begin + bytes - 1) + " of " + home + " (shared memory)";
  }
  const std::uint64_t offset = address - static_begin_;
  if (offset >= static_bytes_) {
    return "out of bounds: " + what + " at byte " + std::to_string(address - dynamic_begin()) +
           " of " + std::to_string(dynamic_bytes_) + " of dynamic shared memory";
  }
  // Small variables need not fill their last word.
  const auto& variables = thread_variables();
  const auto after =
      std::upper_bound(variables.begin(), variables.end(), offset,
                       [](std::uint64_t at, const ThreadVariable& v) { return at < v.offset; });
  if (variables.empty()) return "";
  const bool is_first = after == variables.begin();
  const bool inside = !is_first && offset + bytes <= (after - 1)->offset + (after - 1)->bytes;
  const bool is_ours =
      !is_own(offset) || address - reinterpret_cast<std::uint64_t>(&running_block) < sizeof(void*);
  if (inside && !is_ours) return "";
  if (is_first || is_ours) return "out of bounds: " + what + " in no shared variable";
  return "out of bounds: " + what + " at byte " + std::to_string(offset - (after - 1)->offset) +
         " of the shared variable '" + (after - 1)->name + "' of " +
         std::to_string((after - 1)->bytes);
}

std::pair<std::string, std::uint64_t> SharedMemory::home_of(std::uint64_t address) const {
  const std::uint64_t offset = address - static_begin_;
  if (offset >= static_bytes_) return {"dynamic shared memory", dynamic_begin()};
  for (const ThreadVariable& v : thread_variables()) {
    if (offset - v.offset < v.bytes) return {"'" + v.name + "'", static_begin_ + v.offset};
  }
  return {"static shared memory", static_begin_};
}

}  // namespace gpubench::model
