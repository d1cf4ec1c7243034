// transfer: moving bytes from here to there. (The kernel of the mapped paths is copy_words.)
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/common/copy_words.cuh"
#include "kernels/common/link.cuh"

namespace transfer {

using copy_words::word;

// Shows that managed memory was on the device: one word in n / flips is turned over there.
inline constexpr unsigned flipping_blocks = 16;
inline constexpr std::size_t flips = std::size_t{flipping_blocks} * copy_words::threads;
__host__ __device__ constexpr std::size_t flip_stride(std::size_t n) {
  return n < flips ? 1 : n / flips;
}
[[maybe_unused]] static __global__ void flip(word* values, std::size_t n) {
  const std::size_t i =
      (blockIdx.x * std::size_t{copy_words::threads} + threadIdx.x) * flip_stride(n);
  if (i < n) values[i] = ~values[i];
}

// --- what must come back ---

template <class Source>
struct ExpectedFlips {
  Source before;
  std::size_t n;
  word operator()(std::size_t i) const {
    const std::size_t stride = flip_stride(n);
    return i % stride == 0 && i / stride < flips ? ~before(i) : before(i);
  }
};

// --- what theory says it costs ---

// Bytes that cross for the first `bytes` of managed memory.
constexpr double whole_pages(std::size_t bytes, std::size_t page) {
  return static_cast<double>((bytes + page - 1) / page * page);
}

// seconds = latency + bytes / rate.
struct Line {
  double latency, bytes_per_second;

  constexpr double seconds(double bytes) const { return latency + bytes / bytes_per_second; }
  // The size at which half of the bandwidth is reached: latency and transfer take equally long.
  constexpr double half_bandwidth_bytes() const { return latency * bytes_per_second; }
};

// The line through the points with the least sum of squared relative errors, so that a microsecond
// counts as much as a millisecond does. At least two different sizes.
inline Line fit(std::span<const double> bytes, std::span<const double> seconds) {
  // Least squares of a x + b y = 1 with x = 1 / seconds, y = bytes / seconds.
  double xx = 0, xy = 0, yy = 0, x1 = 0, y1 = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const double x = 1 / seconds[i], y = bytes[i] / seconds[i];
    xx += x * x;
    xy += x * y;
    yy += y * y;
    x1 += x;
    y1 += y;
  }
  const double determinant = xx * yy - xy * xy;
  return {(x1 * yy - y1 * xy) / determinant, determinant / (y1 * xx - x1 * xy)};
}

}  // namespace transfer
