// Calls of functions, which become part of the kernel that calls.
#pragma once

#include "harness/platform/model/ptx/module.hpp"

namespace gpubench::model::ptx {

// Puts a function's instructions where it is called, with registers and labels of their own; what
// is passed becomes the kernel's too. So lanes that come from different calls meet behind them, as
// they do on a GPU, and no earlier. A call through a pointer or of a function within itself stays,
// with why it cannot be lowered.
void inline_calls(Kernel& kernel, const Module& module);

}  // namespace gpubench::model::ptx
