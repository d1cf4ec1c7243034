// The names of kernels from their addresses, and the variables that each thread has its own of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpubench::model {

// As the linker knows it ("_ZN10coalescing12strided_readEPKj"), or "" when the program's symbols
// were stripped. Valid for ever.
const char* linker_name(const void* function);

// A linker's name as a reader knows it ("coalescing::strided_read"): without return type and
// parameters, but with template arguments. What is no C++ name stays as it is.
std::string decoded_name(const char* linker_name);

// The same of a kernel. The address in hexadecimal where there is no name. Valid for ever.
const char* readable_name(const void* function);

// A thread-local variable, as kernels' __shared__ ones are; `offset` into a thread's block of them.
struct ThreadVariable {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::string name;  // "tile", without the function it belongs to
};
// Those that kernels may have, by offset; none when the program's symbols were stripped. Valid for
// ever.
const std::vector<ThreadVariable>& thread_variables();

}  // namespace gpubench::model
