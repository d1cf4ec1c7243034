// What the matrices of a library's multiplication hold, in its own formats, as numbers.
#pragma once

#include <utility>
#include <vector>

#include "harness/platform/gemm.hpp"
#include "harness/platform/model/memory/memory.hpp"

namespace gpubench::model {

// Elements of A and B, row by row as they stand in memory, each times its scale; for tf32, rounded
// as the library rounds them.
std::pair<std::vector<double>, std::vector<double>> operands_of(const GemmShape& shape,
                                                                const DeviceMemory& memory,
                                                                const void* a, const void* b,
                                                                const GemmScales& scales);

}  // namespace gpubench::model
