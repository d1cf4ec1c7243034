// Variables of a module as a whole: ".const .align 4 .b8 table[16] = {0, 0, 128, 63};".
#pragma once

#include "harness/platform/model/ptx/lexer.hpp"
#include "harness/platform/model/ptx/module.hpp"

namespace gpubench::model::ptx {

// A number at hand: an integer, or a floating-point one by its bits. PtxError: there is none.
Operand take_number(Lexer& lexer);

// The declaration at hand, to its ';'. What cannot be read of it makes the variable unusable, and
// does not throw.
Variable take_module_variable(Lexer& lexer, bool is_extern);

}  // namespace gpubench::model::ptx
