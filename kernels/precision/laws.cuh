// precision: what theory says that each dtype loses, as ||C - C64|| / ||C64|| (Frobenius).
//
// u is half of the distance from 1 to the next number. Rounding moves a value that is uniform in
// [-1, 1) by a mean square of u^2 / 21, which is u^2 / 7 of its own mean square 1/3: within a
// binade errors are uniform, and each binade is half as likely as the next one and has half its
// step.
#pragma once

#include <cmath>

#include "kernels/precision/formats.cuh"

namespace precision {

// What is lost by rounding operands, and what by adding up: independent of each other.
// `operands_at_most`: where operands may be rounded in a worse way than to nearest.
struct Loss {
  double operands = 0, sums = 0, operands_at_most = operands;
  double total() const { return std::hypot(operands, sums); }
};

// Half a step relative to the number at a binade's lower end.
inline constexpr double u_fp64 = 0x1p-53, u_fp32 = 0x1p-24, u_tf32 = 0x1p-11, u_fp16 = 0x1p-11,
                        u_bf16 = 0x1p-8, u_e4m3 = 0x1p-4, u_e5m2 = 0x1p-3;

// A value uniform in [-a, a) where 1 <= a < 2 is how far the largest is into its binade.
inline double rounding_loss(double u, double a = 1) {
  return u * std::sqrt((a - 6.0 / 7) / (a * a * a));
}

// The lowest bits are cut off toward zero. By the mean that is 9/14 u, which all elements of C lose
// together; the mean square is 4/7 u^2.
inline double cutting_loss_of_product(double u) {
  const double mean = 9.0 / 14 * u;
  return std::hypot(2 * mean, std::sqrt(2 * (4.0 / 7 * u * u - mean * mean)));
}

// Fixed point: steps of 1 where the largest is `steps`; `root_mean_square` relative to the largest.
inline double step_loss(double steps, double root_mean_square) {
  return 1 / (steps * std::sqrt(12.0) * root_mean_square);
}
inline double root_mean_square(Contents contents) {
  const double among = 1.0 / static_cast<double>(one_in);
  return contents == Contents::outliers
             ? std::sqrt((1 - among + among * outlier * outlier) / 3) / outlier
             : std::sqrt(1.0 / 3);
}

// One of 16 values becomes 6 and 15 are uniform below; a third of these each is rounded to steps of
// 1/2, 1 and 2.
inline double nvfp4_loss() {
  const double lost = (0.25 + 1 + 4) / 3 / 12;
  return std::sqrt(15 * lost / (15 * 12 + 36));
}

// `k` products added in steps of `step`; after each the sum is rounded to nearest. Sums grow as a
// random walk, so that significands are distributed as 1 / x: a rounding then has a mean square of
// u^2 / (8 ln 2) of the number's own.
inline double nearest_sum_loss(double u, double k, double step) {
  return u * std::sqrt(k / (2 * step) / (8 * std::log(2.0)));
}
// Each sum is cut off toward zero instead: by u / (2 ln 2) of itself on the average. What has been
// lost on the way is the integral of a random walk, whose mean square is a third of the steps'.
inline double cut_sum_loss(double u, double k, double step) {
  return u / (2 * std::log(2.0)) * (k / step) / std::sqrt(3.0);
}

// fp32 from `parts` of bf16 each: what is left of a value is u / sqrt(7) of it after each part, and
// the `parts - 1` products of parts that are left out are as large as either rest.
inline Loss bf16_parts_loss(unsigned parts, double k, double step) {
  const double rest = std::pow(u_bf16 / std::sqrt(7.0), parts);
  return {rest * std::sqrt(parts + 1.0), cut_sum_loss(u_fp32, k, step)};
}

// fp64 from `parts` of 7 bits: products are exact, and sums too, until they are added up in fp64,
// where the last addition decides.
inline Loss int8_parts_loss(unsigned parts) {
  return {std::sqrt(parts + 1.0) * std::pow(2.0, -7.0 * parts), nearest_sum_loss(u_fp64, 2, 1)};
}

// A sum of n numbers in [0, 1), one after the other, grows to n / 2, or until half a step is more
// than any number: from 1 / u on nothing is added any more. Below, roundings have a mean square of
// u^2 / 7 of the sum's own.
inline double running_sum_loss(double u, double n) {
  return n / 2 > 1 / u ? 1 - 1 / u / (n / 2) : u * std::sqrt(n / 21);
}
// By pairs: the sums of a level are near a power of two 2^e, half of them above, where a step is
// 2^e * 2 u. Sums of two numbers with steps half or a quarter as large are a tie or exact, or also
// halfway to a tie: mean squares of 1/8 and 3/32 of a step's. On the average that is 9/32 u^2 of
// the sum's own; a level of half as many sums counts twice as much as the one before.
inline double pairwise_sum_loss(double u) { return u * std::sqrt(2 * 9.0 / 32); }

// The share of Gradients that becomes zero, multiplied by 2^scale: numbers up to half of the
// format's smallest, 2^smallest.
inline double flushed_share(int smallest, int scale) {
  const int kept = 2 - smallest + scale - Gradients::largest_exponent;
  const double share = 1 - static_cast<double>(kept) / Gradients::exponents;
  return std::fmin(std::fmax(share, 0), 1);
}

}  // namespace precision
