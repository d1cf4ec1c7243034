// Kernels whose instructions of warps follow from arithmetic: special functions, votes, exchanges.
#pragma once

namespace gpubench::kernels {

// Runs one block. Lanes below `split` take tanhf, the others rsqrtf and one more sqrtf.
void branch_to_special(float* out, const float* in, unsigned split, unsigned threads);
// Lane i takes __expf i % 4 times.
void special_by_trips(float* out, const float* in);
// Every function that is counted, of x = in[lane] and y = 2: results in the order of the tables.
constexpr unsigned special_functions = 30;
void all_special(float* out, const float* in, unsigned lanes);

// By lane of the last warp: ballot of all, all, all but the first, any of the first, none.
void votes_in_part(unsigned* out, unsigned threads);
// Lanes below `first` and from `last` on return. The others write to out[i] what a full mask gives
// them: a ballot of the odd ones, whether all are within, and after a __syncwarp the value of
// their neighbour, 32 words apart.
void votes_without_the_ended(unsigned* out, unsigned first, unsigned last);

// A warp: 2 global loads, 1 store, 1 atomic; 3 shared stores, 2 loads, 1 atomic; 4 shuffles, a
// vote, 2 barriers, a __syncwarp; multiply-adds: 5 of fp32 and 6 of fp64; of fp32 also 3 additions,
// 2 maxima and minima, and 2 conversions into pairs of 16 bits.
void one_of_each(double* wide, unsigned* bins, const float* in, unsigned blocks);

// Blocks of 32 threads in global memory; whether two of them come by the same bytes, and write.
enum class Sharing {
  one_word_stored,     // by all of them: a race
  neighbours_loaded,   // a word of its own stored, the next block's loaded: a race
  bytes_of_a_sector,   // each its own byte: fine
  one_word_loaded,     // by all of them: fine
  ordered_by_atomics,  // the last block sums what all have stored: fine
};
void share(Sharing how, unsigned* words, unsigned blocks);
extern const int stored_line, loaded_line;

}  // namespace gpubench::kernels
