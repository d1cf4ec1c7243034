// mma.sync of matrices with block scales.
#pragma once

#include "harness/platform/model/ptx/builder.hpp"

namespace gpubench::model::ptx {

void build_scaled_multiply(Builder& b);

}  // namespace gpubench::model::ptx
