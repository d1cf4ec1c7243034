// Where the engine finds its kernels: PTX text, as nvcc left it beside this program.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "harness/platform/model/ptx/program.hpp"

namespace gpubench::model::ptx {

// The PTX in a program that nvcc compiled with --no-compress. PtxError: there is none.
std::vector<std::string> texts_of_program(const std::string& path);

class Library {
 public:
  // `origin` names the text in messages.
  void add(std::string text, std::string origin);
  // A program beside this one that holds PTX, or a folder of *.ptx files. PtxError if neither.
  void add_from(const std::string& path);

  // The kernel of that readable name ("coalescing::strided_read<4u>"), from the text for the latest
  // architecture that a device of this compute capability runs. PtxError: there is none.
  std::shared_ptr<const Program> find(const std::string& kernel, std::pair<int, int> capability,
                                      std::size_t shared_base);

 private:
  struct Source {
    std::string text, origin;
    int architecture = 0;      // 90 of sm_90a
    bool is_specific = false;  // its 'a': runs on no other
    std::shared_ptr<const Module> module;
  };
  struct Entry {
    std::size_t source = 0;
    std::string name;  // as the linker knows it
  };
  const Entry& best(const std::string& kernel, std::pair<int, int> capability) const;

  std::mutex mutex_;
  std::vector<Source> sources_;
  std::multimap<std::string, Entry> entries_;  // by readable name
  std::map<std::pair<const void*, std::size_t>, std::shared_ptr<const Program>> programs_;
};

}  // namespace gpubench::model::ptx
