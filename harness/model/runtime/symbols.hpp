// The names of kernels from their addresses.
#pragma once

#include <string>

namespace gpubench::model {

// As the linker knows it ("_ZN10coalescing12strided_readEPKj"), or "" when the program's symbols
// were stripped. Valid for ever.
const char* linker_name(const void* function);

// A linker's name as a reader knows it ("coalescing::strided_read"): without return type and
// parameters, but with template arguments. What is no C++ name stays as it is.
std::string decoded_name(const char* linker_name);

// The same of a kernel. The address in hexadecimal where there is no name. Valid for ever.
const char* readable_name(const void* function);

}  // namespace gpubench::model
