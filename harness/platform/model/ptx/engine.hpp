// The engine that runs nvcc's PTX of a kernel instead of what the host's compiler made of it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/platform/model/emulator/block_engine.hpp"
#include "harness/platform/model/ptx/conduct.hpp"
#include "harness/platform/model/ptx/library.hpp"

namespace gpubench::model::ptx {

// `library` and what the engine is given must outlive it.
MakeEngine make_engine(Library& library, std::pair<int, int> capability, const Conduct& conduct);

}  // namespace gpubench::model::ptx
