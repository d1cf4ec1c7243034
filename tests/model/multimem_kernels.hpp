// Kernels that work at multicast addresses, most of them with a mistake.
#pragma once

#include <cuda_runtime.h>

namespace gpubench::kernels {

// One thread, one operation.
enum class Sum { fp32, fp16, bf16 };
void load_sum(Sum type, const uint4* at, uint4* to);
void add_everywhere(Sum type, uint4* at, uint4 value);
void store_everywhere(uint4* at, uint4 value);

// Many blocks add 1 to the four floats at one address.
void add_ones(void* at, unsigned blocks, unsigned threads);

// --- with a mistake ---
void load_plainly(const uint4* at, uint4* to);
void store_plainly(uint4* at);
void store_twice(uint4* at);            // two threads of a block, nothing between them
void store_from_two_blocks(uint4* at);  // likewise
// A thread reads its GPU's own memory, while another one stores everywhere.
void load_beside_store(uint4* everywhere, const uint4* own, uint4* to);

}  // namespace gpubench::kernels
