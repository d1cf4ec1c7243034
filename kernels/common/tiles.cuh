// What tiles cost a matrix multiplication: they are whole, and so are the waves in which they come.
#pragma once

#include <cmath>

namespace tiles {

inline double count(double m, double n, double tile_m, double tile_n) {
  return std::ceil(m / tile_m) * std::ceil(n / tile_n);
}

// What is needed of all that the SMs multiply, one tile per SM at a time.
inline double useful_share(double m, double n, double tile_m, double tile_n, double sms) {
  return m * n / (std::ceil(count(m, n, tile_m, tile_n) / sms) * sms * tile_m * tile_n);
}

}  // namespace tiles
