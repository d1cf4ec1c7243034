// A linker's name as a reader knows it.
#pragma once

#include <string>

namespace gpubench {

// "_ZN1k4copyIfEEvPfi" -> "void k::copy<float>(float*, int)". What is no C++ name stays as it is.
std::string demangled(const char* linker_name);

// "void k::copy<float>(float*, int)" -> "k::copy<float>". The return type is there for templates
// only; a bracket counts outside others only.
std::string without_types(const std::string& signature);

}  // namespace gpubench
