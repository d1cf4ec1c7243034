// Kernels in CUDA as people write it: what a call by one name is, and what it counts.
#pragma once

#include <cstddef>

namespace gpubench::kernels {

// The absolute values of out[0..2], each of another type.
struct Numbers {
  float single;
  double twice;
  long long whole;
};
void absolutes(Numbers* out);
// By the names of C++: two roots, an exponential, a hyperbolic tangent, two multiply-adds, a
// maximum.
void functions_by_plain_names(float* out, const float* x);
// out[0..3]: whether x is NaN, infinite, negative, finite.
void classes(int* out, const float* x);

// One warp. Thread i copies, or sets to 0x11, its own `bytes` bytes.
enum class Bytes { by_memcpy, by_std_memcpy, by_memmove, through_shared, by_memset };
void move_bytes(Bytes how, unsigned char* out, const unsigned char* in, std::size_t bytes);

// One thread moves `count` bytes, at most 64, one further: where they are, or in shared memory.
void shift_bytes(unsigned char* bytes, std::size_t count, bool shared);

// sincosf, modff and frexpf of x, with results in out[0..5]: each stores two.
void store_two_results(float* out, const float* x);

enum class Clock { of_the_host, of_the_sm };
void read_clock(Clock which, long long* out);

struct Complex {
  double re, im;
};
struct alignas(16) Aligned {
  float x, y, z, w;
};
struct Doubles {
  double value[6];
};
struct Letters {
  char value[8];
};
struct Pixel {
  unsigned char r, g, b, a;
};
struct TwoBytes {
  unsigned char low, high;
};
// One warp: out[i] = in[i].
template <class Struct>
void copy_structs(Struct* out, const Struct* in);

// One thread changes a variable that no kernel got as an argument.
enum class Change { by_store, by_atomic };
void change_variable(Change how);

// Two blocks: this one waits for a flag that the other sets.
void wait_for_flag(int* flag, unsigned waiting);
// Each thread loads the same word so often, and adds it up.
void load_one_word(float* out, const float* in, unsigned times);

// Stores and loads so many bytes of a local array of `most_local_bytes`.
constexpr std::size_t most_local_bytes = 500 << 10;
void use_local_array(int* out, int bytes);

// One warp: each lane uses each of ten words by another atomic; lane i keeps in found[i + 32 * k]
// what the last four found.
void atomics(int* words, unsigned* found);
// 64 threads, thread i brings whether i % 3 == 0, then whether i < 64: counts, ands, ors.
void block_votes(int* out);
// One warp, lane i brings i % 4: lanes with the same; all lanes alike or none; sums and the like.
void matches(unsigned* out);

}  // namespace gpubench::kernels
