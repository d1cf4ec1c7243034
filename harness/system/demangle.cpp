#include "harness/system/demangle.hpp"

#include <cxxabi.h>

#include <cstdlib>

namespace gpubench {

std::string demangled(const char* linker_name) {
  int status = 0;
  char* text = abi::__cxa_demangle(linker_name, nullptr, nullptr, &status);
  std::string name = status == 0 ? text : linker_name;
  std::free(text);
  return name;
}

std::string without_types(const std::string& signature) {
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < signature.size(); ++i) {
    const char c = signature[i];
    if (c == '<') ++depth;
    if (c == '>') --depth;
    if (depth != 0) continue;
    if (c == ' ') begin = i + 1;
    if (c == '(' && signature.compare(i, 21, "(anonymous namespace)") != 0) {
      return signature.substr(begin, i - begin);
    }
    if (c == '(') i += 20;
  }
  return signature;
}

}  // namespace gpubench
