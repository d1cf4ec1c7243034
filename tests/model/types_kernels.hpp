// Kernels on the small types, each launched on the default stream: one block of one warp.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace gpubench::kernels {

// out[lane] = in[lane]: whole, by its members, through shared memory.
void copy_halves(__half* out, const __half* in);
void copy_pairs(__half2* out, const __half2* in);
void swap_pairs(__half2* out, const __half2* in);
void stage_pairs(__half2* out, const __half2* in);

// x = x * 0.5 + 1, `trips` times, by calls and by operators; then 1 and 2 are exchanged.
void fuse_pairs(__half2* out, const __half2* in, unsigned trips);
void fuse_halves(__half* out, const __half* in, unsigned trips);
void fuse_bfloats(__nv_bfloat162* out, const __nv_bfloat162* in, unsigned trips);
void exchange_pairs(__half2* out, __half* low, const __half2* in);

}  // namespace gpubench::kernels
