// bank_conflicts: when do lanes queue for shared memory?
//
// Expected  A request for 4-byte words takes gcd(stride, 32) wavefronts: odd strides are free, and
//           stride 32 is 32 times slower. One word for all lanes takes one wavefront. 8-byte
//           accesses are served by half-warps, 16-byte ones by quarter-warps, or by twice as many
//           lanes if all want the same bytes. A transpose that reads the columns of a plain tile
//           has conflicts. A padding word per row or a swizzle makes it as fast as a copy. A
//           reduction that adds neighbours first doubles its stride at every level; adding the
//           upper half to the lower has no conflicts. Stores queue as loads do, and so do atomic
//           additions to different words. Lanes that want bytes of one word share it, so 8- and
//           16-bit elements side by side have no conflicts. ldmatrix reads rows of 16 bytes: at a
//           pitch of 128 bytes, eight of them queue at the same banks; a padding piece per row or
//           the 128-byte swizzle spreads them.
// Units     stride [elements], bytes [per lane and access], lanes [that share a word]. Useful bytes
//           are those that lanes read from or write to shared memory; in `transpose` and
//           `reduction`, global memory.
// Confirm   ncu --metrics l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum, over
//           smsp__inst_executed_op_shared_ld.sum; for stores and atomics, _st and _atom
#include "harness/bench/bank_conflicts/rows.hpp"

#include "kernels/bank_conflicts.cuh"

namespace {

using namespace bank_conflicts;
using namespace bank_conflicts::rows;
using gpubench::type;

GPU_BENCHMARK(bank_conflicts, strided)
    ->ArgNames({"bytes [per lane]", "stride [elements]"})
    ->ArgsProduct({{4}, {1, 2, 4, 16, 33, 32}})
    ->Rest(Suite::standard)
    ->ArgsProduct({{8, 16}, {1, 2, 4}})
    ->Rest(Suite::full)
    ->ArgsProduct({{4, 8, 16}, gpubench::dense_range(0, 33)});

GPU_BENCHMARK(bank_conflicts, broadcast)
    ->ArgNames({"stride [elements]", "lanes [sharing a word]"})
    ->ArgsProduct({{32}, {1, 32}})
    ->Rest(Suite::full)
    ->ArgsProduct({{32, 1}, {1, 2, 4, 8, 16, 32}});

GPU_BENCHMARK(bank_conflicts, narrow)
    ->ArgNames({"bytes [per lane]", "stride [elements]"})
    ->In(Suite::full)
    ->ArgsProduct({{1}, {1, 2, 4, 8, 64, 128, 132}})
    ->ArgsProduct({{2}, {1, 2, 4, 32, 64, 66}});

GPU_BENCHMARK(bank_conflicts, store)
    ->ArgNames({"bytes [per lane]", "stride [elements]"})
    ->In(Suite::full)
    ->ArgsProduct({{4, 8, 16}, {1, 2, 3, 4, 8, 16, 32, 33}})
    ->Takes("stride", {1, 33});

GPU_BENCHMARK(bank_conflicts, atomic)
    ->ArgName("stride [elements]", {0, 33})
    ->In(Suite::full)
    ->Each({0, 1, 2, 4, 8, 16, 32, 33});

GPU_BENCHMARK_BY(bank_conflicts, ldmatrix)
    ->Functions("rows", {{"plain", matrices_of<PlainRows>},
                         {"padded", matrices_of<PaddedRows>},
                         {"swizzled", matrices_of<SwizzledRows>}})
    ->In(Suite::full);

GPU_BENCHMARK_BY(bank_conflicts, transpose)
    ->Functions("layout", {{"none", through_tile<Plain>},
                           {"padded", through_tile<Padded>},
                           {"swizzled", through_tile<Swizzled>},
                           {"copy", through_tile<Plain, false>}});

GPU_BENCHMARK_OF_TYPE(bank_conflicts, reduction, reduce_in<T>)
    ->Axis("addressing", type<Interleaved>("interleaved"), type<Sequential>("sequential"));

}  // namespace
