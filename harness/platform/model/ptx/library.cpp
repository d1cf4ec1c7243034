#include "harness/platform/model/ptx/library.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "harness/platform/model/emulator/source_location.hpp"
#include "harness/platform/model/launch/symbols.hpp"

namespace gpubench::model::ptx {
namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw PtxError("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// "strided_read" and what its template was given; nvcc gives what is local to a file a longer name.
std::vector<std::string> kernels_in(const std::string& text) {
  std::vector<std::string> names;
  constexpr std::string_view entry = ".entry ";
  for (std::size_t at = text.find(entry); at != text.npos; at = text.find(entry, at)) {
    at += entry.size();
    names.push_back(text.substr(at, text.find('(', at) - at));
    while (!names.back().empty() && std::isspace(static_cast<unsigned char>(names.back().back()))) {
      names.back().pop_back();
    }
  }
  return names;
}

}  // namespace

// Uncompressed PTX stands in a program as it is, from its version to a zero byte. (What -lineinfo
// leaves beside machine code has such bytes for its line ends.)
std::vector<std::string> texts_of_program(const std::string& path) {
  const std::string content = content_of(path);
  constexpr std::string_view version = ".version ", target = ".target sm_";
  std::vector<std::string> texts;
  for (std::size_t at = content.find(version); at != content.npos;
       at = content.find(version, at + 1)) {
    const std::size_t line = content.find_first_of(std::string_view("\n\0", 2), at);
    if (line == content.npos || content.compare(line + 1, target.size(), target) != 0) continue;
    if (content[line] == '\0') continue;
    texts.push_back(content.substr(at, content.find('\0', at) - at));
  }
  if (texts.empty()) {
    throw PtxError(path +
                   " holds no PTX in plain text: build it with an architecture that keeps it "
                   "(CMAKE_CUDA_ARCHITECTURES=90a, say)");
  }
  return texts;
}

void Library::add(std::string text, std::string origin) {
  Source source;
  constexpr std::string_view target = ".target sm_";
  const std::size_t at = text.find(target);
  const std::size_t end = at == text.npos ? at : text.find_first_of(" ,\r\n", at + target.size());
  if (end == text.npos) throw PtxError(origin + " is no PTX: it names no .target");
  const std::string name = text.substr(at + target.size(), end - at - target.size());
  std::from_chars(name.data(), name.data() + name.size(), source.architecture);
  source.is_specific = name.ends_with('a');
  for (std::string& kernel : kernels_in(text)) {
    entries_.emplace(decoded_name(kernel.c_str()), Entry{sources_.size(), kernel});
  }
  source.text = std::move(text);
  source.origin = std::move(origin);
  sources_.push_back(std::move(source));
}

void Library::add_from(const std::string& path) {
  if (!std::filesystem::is_directory(path)) {
    std::size_t number = 0;
    for (std::string& text : texts_of_program(path)) {
      add(std::move(text), path + ", PTX " + std::to_string(++number));
    }
    return;
  }
  std::vector<std::string> files;
  for (const auto& file : std::filesystem::recursive_directory_iterator(path)) {
    if (file.path().extension() == ".ptx") files.push_back(file.path().string());
  }
  if (files.empty()) throw PtxError(path + " holds no .ptx files");
  std::ranges::sort(files);
  for (const std::string& file : files) add(content_of(file), file);
}

const Library::Entry& Library::best(const std::string& kernel,
                                    std::pair<int, int> capability) const {
  const int here = 10 * capability.first + capability.second;
  const Entry* found = nullptr;
  const auto [begin, end] = entries_.equal_range(kernel);
  for (auto e = begin; e != end; ++e) {
    const Source& source = sources_[e->second.source];
    const bool runs =
        source.is_specific ? source.architecture == here : source.architecture <= here;
    if (!runs) continue;
    const auto rank = [&](const Entry& entry) {
      const Source& s = sources_[entry.source];
      return std::pair(s.architecture, s.is_specific);
    };
    if (found == nullptr || rank(*found) < rank(e->second)) found = &e->second;
  }
  if (found == nullptr) {
    throw PtxError("no PTX of " + kernel + " for compute capability " +
                   std::to_string(capability.first) + '.' + std::to_string(capability.second) +
                   (begin == end ? "" : " (there is some for another)"));
  }
  return *found;
}

std::shared_ptr<const Program> Library::find(const std::string& kernel,
                                             std::pair<int, int> capability,
                                             std::size_t shared_base) {
  const std::lock_guard lock(mutex_);
  const Entry& entry = best(kernel, capability);
  auto& program = programs_[{&entry, shared_base}];
  if (program != nullptr) return program;
  Source& source = sources_[entry.source];
  if (source.module == nullptr) source.module = parse(source.text, source.origin);
  for (const Kernel& k : source.module->kernels) {
    if (k.name == entry.name) program = lower(source.module, k, shared_base);
  }
  if (program == nullptr) throw PtxError(source.origin + " has no kernel " + kernel);
  const Program* const placed = program.get();
  add_places(
      placed->ops.data(), placed->ops.data() + placed->ops.size(),
      [program = program](const void* op) { return program->place(*static_cast<const Op*>(op)); });
  return program;
}

}  // namespace gpubench::model::ptx
