// "wmma.load" and "wmma.store".
#pragma once

#include "harness/platform/model/ptx/builder.hpp"

namespace gpubench::model::ptx {

void build_tile_access(Builder& b);

}  // namespace gpubench::model::ptx
