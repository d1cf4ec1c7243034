// coalescing: what does a warp pay for touching scattered words?
//
// Expected  At strides 1, 2, 4 and 8, useful bandwidth should be 100, 50, 25 and 12.5 % of the DRAM
//           roof, because a 32-byte sector is always moved as a whole. Beyond stride 8 the DRAM
//           fetch size decides: the curve is flat if DRAM fetches 32 bytes, and halves once more if
//           it fetches 64. This law is for reads. From stride 2 on, strided writes lose twice as
//           much, because a partly written sector is read first. A read whose offset is not a
//           multiple of 8 words touches 5 sectors per request instead of 4, but the caches hide
//           that. Reading one field of an array of structs is a stride in disguise. A gather slows
//           down as its window outgrows L1, L2 and the TLB (the model has no TLB). A thread that
//           reads its whole record uses every byte that DRAM moves, but its words are strided all
//           the same: each request takes up to 8 times as many sectors as it needs. If the block
//           loads its records side by side and hands them out in shared memory, none does.
// Units     stride, offset, fields [4-byte words]; bytes [per lane and access]; window [bytes]. All
//           rows of a kernel have the same number of useful words; the buffer grows with the
//           stride. Kernels that read write only one sum per block.
// Confirm   ncu --metrics l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio,
//           l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio
#include "harness/bench/coalescing/rows.hpp"

#include "kernels/coalescing.cuh"

namespace {

using namespace coalescing::rows;
using gpubench::type;

void strides(Registration* rows) {
  rows->ArgName("stride [words]", {1, 64})->Range(1, 32);
  rows->Rest(Suite::full)->Each({3, 5, 6, 7, 9, 12, 15, 17, 24, 31, 33});
}
GPU_BENCHMARK(coalescing, strided_read)->Apply(strides);
GPU_BENCHMARK(coalescing, strided_write)->Apply(strides);

GPU_BENCHMARK(coalescing, misaligned_read)
    ->ArgName("offset [words]", {0, 32})
    ->Each({0, 1, 8, 31})
    ->Rest(Suite::full)
    ->DenseRange(2, 30);

GPU_BENCHMARK(coalescing, misaligned_write)
    ->ArgName("offset [words]", {0, 32})
    ->In(Suite::full)
    ->Each({0, 1, 2, 4, 8, 16, 31});

GPU_BENCHMARK_OF_TYPE(coalescing, records, records<T>)
    ->Axis("layout", type<coalescing::ArrayOfStructs>("aos"),
           type<coalescing::StructOfArrays>("soa"),
           type<coalescing::ArrayOfStructsOfArrays>("aosoa"))
    ->ArgName("fields [words]", {1, 32})
    ->Range(4, 16);

GPU_BENCHMARK(coalescing, vector_read)->ArgName("bytes [per lane]")->Range(4, 16);

GPU_BENCHMARK(coalescing, vector_write)->ArgName("bytes [per lane]")->In(Suite::full)->Range(4, 16);

GPU_BENCHMARK(coalescing, whole_records)
    ->Axis("by", {"words", "vectors", "shared", "soa"})
    ->ArgName("fields [words]")
    ->In(Suite::full)
    ->Range(4, 16);

GPU_BENCHMARK(coalescing, gather)
    ->ArgName("window [bytes]")
    ->Each({1 << 16, 1 << 24, 1 << 30})
    ->Rest(Suite::full)
    ->Each({32, 64, 256, 1024, 4096, 1 << 14, 1 << 18, 1 << 20, 1 << 22, 1 << 26, 1 << 28});

}  // namespace
