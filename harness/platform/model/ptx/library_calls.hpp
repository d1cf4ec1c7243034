// Functions that nvcc calls and does not define: printf and a failing assert.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include "harness/platform/model/ptx/builder.hpp"

namespace gpubench::model::ptx {

// A call of one becomes an instruction of its name (calls.cpp), with the result, if there is one,
// in front of the arguments.
struct LibraryFunction {
  std::string_view name;
  std::initializer_list<unsigned> arguments;  // [bytes]
  unsigned result;                            // [bytes], 0: none
};
const LibraryFunction* library_function(std::string_view name);

std::span<const Opcode> library_opcodes();

}  // namespace gpubench::model::ptx
