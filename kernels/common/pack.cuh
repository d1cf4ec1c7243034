// 16 bytes of numbers: what a lane moves at once, whatever their type. Arithmetic is in the type
// that they are unpacked to, fp32 unless they are doubles.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

template <class T>
struct Pack {
  static constexpr unsigned size = sizeof(uint4) / sizeof(T);
  uint4 bits;

  template <class Number>
  __device__ void unpack(Number (&numbers)[size]) const {
    const T* const held = reinterpret_cast<const T*>(&bits);
#pragma unroll
    for (unsigned k = 0; k < size; ++k) numbers[k] = static_cast<Number>(held[k]);
  }
  // Each number is rounded once, to nearest even.
  template <class Number>
  __device__ static Pack of(const Number (&numbers)[size]) {
    Pack pack;
    T* const held = reinterpret_cast<T*>(&pack.bits);
#pragma unroll
    for (unsigned k = 0; k < size; ++k) held[k] = static_cast<T>(numbers[k]);
    return pack;
  }
};

// Pack `at` of an array that begins on 16 bytes.
template <class T>
__device__ inline Pack<T> load_pack(const T* array, std::size_t at) {
  return {reinterpret_cast<const uint4*>(array)[at]};
}
template <class T>
__device__ inline void store_pack(T* array, std::size_t at, const Pack<T>& pack) {
  reinterpret_cast<uint4*>(array)[at] = pack.bits;
}
