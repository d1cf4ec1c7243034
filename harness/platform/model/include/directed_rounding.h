// Sums, products and multiply-adds that are rounded towards zero (_rz), up (_ru) or down (_rd).
// Counted as those that are rounded to nearest.
#pragma once

#define GPUBENCH_DIRECTED(way)                           \
  float __fadd##way(float a, float b) noexcept;          \
  float __fsub##way(float a, float b) noexcept;          \
  float __fmul##way(float a, float b) noexcept;          \
  float __fmaf##way(float a, float b, float c) noexcept; \
  double __dadd##way(double a, double b) noexcept;       \
  double __dsub##way(double a, double b) noexcept;       \
  double __dmul##way(double a, double b) noexcept;       \
  double __fma##way(double a, double b, double c) noexcept;
GPUBENCH_DIRECTED(_rz)
GPUBENCH_DIRECTED(_ru)
GPUBENCH_DIRECTED(_rd)
#undef GPUBENCH_DIRECTED
