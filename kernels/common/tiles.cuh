// What tiles cost a matrix multiplication: they are whole, and so are the waves in which they come.
#pragma once

#include <cmath>

namespace tiles {

// What is needed of all that the SMs multiply, one tile per SM at a time.
inline double useful_share(double m, double n, double tile_m, double tile_n, double sms) {
  const double count = std::ceil(m / tile_m) * std::ceil(n / tile_n);
  return m * n / (std::ceil(count / sms) * sms * tile_m * tile_n);
}

}  // namespace tiles
