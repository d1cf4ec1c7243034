// A column of A times a row of B for the model device, whose multiply-adds are counted by one call.
// (The GPU's answer to the same name: harness/platform/gpu/include/outer_product.hpp.)
#pragma once

#include "harness/platform/model/include/device_language.h"

namespace gpubench::model {
// sums[i * columns + j] += a[i] * b[j], each rounded once.
void add_products(float* sums, const float* a, unsigned rows, const float* b,
                  unsigned columns) noexcept;
}  // namespace gpubench::model

template <unsigned rows, unsigned columns>
__forceinline__ void add_outer_product(float (&sums)[rows][columns], const float (&a)[rows],
                                       const float (&b)[columns]) {
  gpubench::model::add_products(&sums[0][0], a, rows, b, columns);
}
