"""Errors planted in nvcc's PTX of the kernel tests, as data.

Each names the tests' file, the GoogleTest filter of the tests that must notice, a part of the
kernel's linker name, and what replaces the n-th match of a regular expression in that kernel.
"""

from __future__ import annotations

from .attention_mutations import ATTENTION
from .block_scale_mutations import BLOCK_SCALES, SCALED_PAIRS, SCALED_TENSOR_MEMORY
from .cluster_mutations import CLUSTERS
from .multimem_mutations import MULTIMEM
from .mutation import MMA, NOTHING, Mutation, of
from .pair_mutations import PAIRS
from .scaled_product_mutations import SCALED_PRODUCTS

BAR = r"bar\.sync\s+0;"

BARRIERS = [
    *of(
        "bank_conflicts",
        "BankConflicts.Transposes*",
        "transpose_by_tileINS_5PlainELb1",
        ("transpose without its barrier", BAR, NOTHING),
        ("transpose at a barrier of two warps", BAR, "bar.sync 0, 64;"),
        ("transpose at a barrier of half a warp", BAR, "bar.sync 0, 16;"),
    ),
    *of(
        "bank_conflicts",
        "BankConflicts.SumsOf*",
        "reduceINS_10Sequential",
        ("reduction without its first barrier", BAR, NOTHING),
        ("reduction without its second barrier", BAR, NOTHING, 1),
    ),
    *of(
        "bank_conflicts",
        "BankConflicts.SumsOf*",
        "reduceINS_11Interleaved",
        ("interleaved reduction without a barrier", BAR, NOTHING, 1),
    ),
    *of(
        "bank_conflicts",
        "BankConflicts.EveryPattern*",
        "readI6float4",
        ("read before all have stored", BAR, NOTHING),
    ),
    *of(
        "reduction",
        "Reduction*",
        "10last_block",
        ("partial sums read before all have stored", BAR, NOTHING),
        ("last block known before its first thread says so", BAR, NOTHING, 1),
    ),
    *of(
        "atomics",
        "Atomics*",
        "histogramILb1",
        ("private bins without a barrier behind the zeros", BAR, NOTHING),
        ("private bins without a barrier before the sums", BAR, NOTHING, 1),
    ),
    *of(
        "async_copy",
        "AsyncCopyKernels.EveryWay*",
        "cp_asyncILj3",
        ("cp.async without its barrier", BAR, NOTHING),
    ),
    *of(
        "async_copy",
        "AsyncCopyKernels.Bulk*",
        "4bulk",
        ("mbarriers used before they are initialised", BAR, NOTHING),
    ),
    *of(
        "gemm_ladder",
        "GemmLadderTest.ATileInShared*",
        "11shared_tile",
        ("tiles used before all have loaded", BAR, NOTHING),
        ("tiles replaced before all have used them", BAR, NOTHING, 1),
    ),
    *of(
        "attention",
        "AttentionTest.TiledAt*",
        "tiledILj64",
        ("keys used before all have copied", BAR, NOTHING, 1),
    ),
]

INDICES = [
    *of(
        "bank_conflicts",
        "BankConflicts.Transposes*",
        "transpose_by_tileINS_5PlainELb1",
        ("an edge that is one too wide", r"setp\.ge\.u32", "setp.gt.u32"),
        ("a column for a row", r"%tid\.y", "%tid.x"),
        ("a block's row for its column", r"%ctaid\.x", "%ctaid.y"),
        ("a pitch of 64 words", r"shl\.b32(\s+%r26, %r37), 5;", r"shl.b32\1, 6;"),
        ("an address that nobody computed", r"shl\.b32\s+%r28, %r27, 2;", NOTHING),
        ("a predicate that nobody computed", r"setp\.ge\.u32\s+%p1, [^;]*;", NOTHING),
    ),
    *of(
        "bank_conflicts",
        "BankConflicts.EveryPattern*",
        "readI6float4",
        (
            "a vector that lies 4 bytes on",
            r"(ld\.shared\.v4\.f32\s+\{[^}]*\}, \[%r\d+)\+512\]",
            r"\1+516]",
        ),
        (
            "a vector that lies 16 bytes on",
            r"(ld\.shared\.v4\.f32\s+\{[^}]*\}, \[%r\d+)\+512\]",
            r"\1+528]",
        ),
        (
            "an element stored for its neighbour",
            r"(st\.shared\.v4\.u32\s+\[%r\d+\], \{%r\d+), (%r\d+), (%r\d+)",
            r"\1, \3, \3",
        ),
        ("a tile that is too small", r"(E4tile\[)19968", r"\g<1>16384"),
    ),
    *of(
        "reduction",
        "Reduction*",
        "8shuffled",
        ("a shuffle from the wrong lane", r"(mov\.u32\s+%r\d+), 16;", r"\1, 15;"),
        ("a shuffle that names half the warp", r"(mov\.u32\s+%r\d+), -1;", r"\1, 65535;"),
        ("a shuffle up for one down", r"shfl\.sync\.down", "shfl.sync.up"),
    ),
    *of(
        "reduction",
        "Reduction*",
        "11atomic_sums",
        ("an atomic to the next word", r"(atom\.global\.add\.f32\s+%f\d+, \[%rd\d+)\]", r"\1+4]"),
        ("an atomic 2 bytes on", r"(atom\.global\.add\.f32\s+%f\d+, \[%rd\d+)\]", r"\1+2]"),
        ("an atomic that replaces", r"atom\.global\.add\.f32", "atom.global.exch.b32"),
    ),
    *of(
        "reduction",
        "Reduction*",
        "10last_block",
        ("tickets that jump", r"(atom\.global\.add\.u32\s+%r\d+, \[%rd\d+\]), 1", r"\1, 2"),
    ),
    *of(
        "atomics",
        "Atomics*",
        "histogramILb1",
        ("a bin that counts two", r"(atom\.shared\.add\.u32\s+%r\d+, \[%r\d+\]), 1", r"\1, 2"),
        ("bins beyond their array", r"(E3own\[)4096", r"\g<1>2048"),
    ),
]

ASYNCHRONOUS = [
    *of(
        "async_copy",
        "AsyncCopyKernels.EveryWay*",
        "cp_asyncILj3",
        ("a wait for one group fewer", r"cp\.async\.wait_group 1;", "cp.async.wait_group 2;"),
        ("no wait at all", r"cp\.async\.wait_group 1;", NOTHING),
        ("a group that is not committed", r"cp\.async\.commit_group;", NOTHING),
        (
            "a copy of half its bytes",
            r"(cp\.async\.cg\S*\s+\[%r\d+\], \[%rd\d+\], 16), 16",
            r"\1, 8",
        ),
        (
            "a copy of a size that there is not",
            r"(cp\.async\.cg\S*\s+\[%r\d+\], \[%rd\d+\]), 16, 16",
            r"\1, 8, 8",
        ),
        ("a copy to a misaligned place", r"(cp\.async\.cg\S*\s+\[%r\d+)\]", r"\1+8]"),
    ),
    *of(
        "async_copy",
        "AsyncCopyKernels.Bulk*",
        "4bulk",
        ("an mbarrier of two arrivals", r"(mov\.u32\s+%r62), 1;", r"\1, 2;"),
        ("a wait for the other phase", r"(try_wait\S+ ended, \[%r\d+\]), %r\d+;", r"\1, 1;"),
        ("no wait for the copy", r"@!ended bra waiting;", NOTHING),
        (
            "fewer bytes expected than come",
            r"(mbarrier\.arrive\.expect_tx\S+ _, \[%r\d+\]), %r\d+;",
            r"\1, 16;",
            -1,
        ),
        (
            "fewer bytes copied than expected",
            r"(cp\.async\.bulk\S+ \[%r\d+\], \[%rd\d+\]), %r\d+,",
            r"\1, 16,",
            -1,
        ),
        ("a copy of 8 bytes", r"(cp\.async\.bulk\S+ \[%r\d+\], \[%rd\d+\]), %r\d+,", r"\1, 8,", -1),
        (
            "a copy that arrives at another mbarrier",
            r"(cp\.async\.bulk\S+ \[%r\d+\], \[%rd\d+\], %r\d+, \[%r\d+)\]",
            r"\1+8]",
            -1,
        ),
    ),
    *of(
        "attention",
        "AttentionTest.TiledAt*",
        "tiledILj64",
        ("keys that are not waited for", r"cp\.async\.wait_group 0;", "cp.async.wait_group 1;"),
    ),
    *of(
        "gemm_ladder",
        "GemmLadderTest.Bf16ByMmaSync",
        "8mma_sync",
        (
            "a stage that is not waited for",
            r"cp\.async\.wait_group (\d+);",
            "cp.async.wait_group 7;",
            -1,
        ),
    ),
]

MATRICES = [
    *of(
        "gemm_ladder",
        "GemmLadderTest.Bf16ByMmaSync",
        "8mma_sync",
        ("sums exchanged", MMA, r"\1{\3, \2, "),
        ("a's rows exchanged", r"(mma\.sync\S+ \{[^}]*\}, \{)(%r\d+), (%r\d+)", r"\1\3, \2"),
        (
            "b's halves exchanged",
            r"(mma\.sync\S+ \{[^}]*\}, \{[^}]*\}, \{)(%r\d+), (%r\d+)",
            r"\1\3, \2",
        ),
        ("another type", r"\.bf16\.bf16\.", ".f16.f16."),
        ("ldmatrix transposed", r"m8n8\.x4\.shared", "m8n8.x4.trans.shared"),
        ("ldmatrix's matrices exchanged", r"(ldmatrix\S+ \{)(%r\d+), (%r\d+)", r"\1\3, \2"),
        ("ldmatrix 8 bytes on", r"(ldmatrix\S+ \{[^}]*\}, \[%r\d+)\]", r"\1+8]"),
        ("ldmatrix 16 bytes on", r"(ldmatrix\S+ \{[^}]*\}, \[%r\d+)\]", r"\1+16]"),
    ),
    *of(
        "attention",
        "AttentionTest.TiledAt*",
        "tiledILj64",
        (
            "the lower number in the upper half",
            r"(cvt\.rn\.bf16x2\.f32 %r\d+), (%f\d+), (%f\d+)",
            r"\1, \3, \2",
        ),
        ("a maximum that is a minimum", r"max\.f32", "min.f32"),
        ("a logarithm for a power", r"ex2\.approx", "lg2.approx"),
    ),
]

WARPGROUPS = [
    *of(
        "gemm_ladder",
        "GemmLadderTest.Bf16ByWgmmaAndTma",
        "9wgmma_tma",
        ("no fence before wgmma", r"wgmma\.fence\.sync\.aligned;", NOTHING, -1),
        ("a group that is not waited for", r"wgmma\.wait_group\.sync\.aligned 0;", NOTHING, -1),
        ("groups that are not committed", r"wgmma\.commit_group\.sync\.aligned;", NOTHING, -1),
        ("sums exchanged", r"(wgmma\.mma_async\S+ \{)(%f\d+), (%f\d+)", r"\1\3, \2"),
        ("another sign", r"(wgmma\.mma_async[^;]*, adds), 1, 1,", r"\1, -1, 1,"),
        ("always added", r"setp\.ne\.u32 adds, %r\d+, 0;", "setp.eq.u32 adds, 0, 0;", -1),
        ("a and b exchanged", r"(wgmma\.mma_async[^;]*\}, )(%rd\d+), (%rd\d+)", r"\1\3, \2"),
        ("readers that are one too few", r"mov\.u32(\s+%r83), 8;", r"mov.u32\1, 7;"),
        ("readers that are one too many", r"mov\.u32(\s+%r83), 8;", r"mov.u32\1, 9;"),
        (
            "row and column of a box exchanged",
            r"(tensor\.2d[^;]*\{)(%r\d+), (%r\d+)",
            r"\1\3, \2",
            -1,
        ),
        ("a box for another stage", r"(tensor\.2d\S+ \[%r\d+)\]", r"\1+1024]", -1),
        ("a box that is not aligned", r"(tensor\.2d\S+ \[%r\d+)\]", r"\1+64]", -1),
        ("a's map for b's", r"mov\.b64(\s+%rd7, \S+)_param_1;", r"mov.b64\1_param_0;"),
        ("another swizzle in the descriptor", r"4611686293305294848", "9223372311732682752"),
        (
            "a start that is not in units of 16 bytes",
            r"shr\.u32(\s+%r\d+, %r\d+), 4;",
            r"shr.u32\1, 3;",
        ),
        ("a lost arrival", r"mbarrier\.arrive\.shared::cta\.b64 _, \[%r\d+\];", NOTHING, -1),
    ),
]

UMMA = r"(tcgen05\.mma\S+ )\[(%r\d+)\], (%rd\d+), (%rd\d+), "
LOAD = r"(tcgen05\.ld\S+\s+\{)(%\w+), (%\w+)([^;]*\[%r\d+)"

TENSOR_MEMORY = [
    *of(
        "gemm_ladder",
        "GemmLadderTest.Bf16ByTcgen05",
        "7tcgen05E",
        ("factors exchanged", UMMA, r"\1[\2], \4, \3, ", -1),
        ("sums for the other tile", UMMA, r"\1[\2+256], \3, \4, "),
        ("sums beyond all columns", UMMA, r"\1[\2+512], \3, \4, ", -1),
        ("sums from another lane on", UMMA, r"\1[\2+65536], \3, \4, ", -1),
        ("always added", r"setp\.ne\.u32 adds, %r\d+, 0;", "setp.eq.u32 adds, 0, 0;", -1),
        ("never added", r"setp\.ne\.u32 adds, %r\d+, 0;", "setp.ne.u32 adds, 0, 0;", -1),
        ("factors of fp16", "138413200", "138412048", -1),
        ("factors with other signs", "138413200", str(138413200 | 1 << 13), -1),
        ("half the columns", "138413200", str(138413200 - (16 << 17)), -1),
        ("half the rows", "138413200", str(138413200 - (4 << 24)), -1),
        ("sums of fp16", "138413200", str(138413200 - 16), -1),
        ("another swizzle in a descriptor", "4611756662049472514", "9223442680476860418"),
        ("no constant in a descriptor", "4611756662049472514", "4611686293305294850"),
        ("the wrong slice of k", "4611756662049472516", "4611756662049472518"),
        ("a commit that is left out", r"tcgen05\.commit[^;]*;", NOTHING),
        ("commits to the next barrier", r"(tcgen05\.commit\S+ \[%r\d+)\]", r"\1+8]", -1),
        ("loads that nobody waits for", r"tcgen05\.wait::ld[^;]*;", NOTHING, -1),
        ("columns exchanged", LOAD, r"\1\3, \2\4"),
        ("a load of the next columns", LOAD, r"\1\2, \3\4+1"),
        ("a load of the next lane", LOAD, r"\1\2, \3\4+65536"),
        ("too few columns", r"(tcgen05\.alloc[^;]*), 512;", r"\1, 256;"),
        ("a number that is no power of two", r"(tcgen05\.alloc[^;]*), 512;", r"\1, 384;"),
        ("columns that are kept", r"tcgen05\.dealloc[^;]*;", NOTHING),
        ("other columns given back", r"(tcgen05\.dealloc[^;]*), 512;", r"\1, 256;"),
        (
            "an allocation too many",
            r"(tcgen05\.relinquish)",
            r"tcgen05.alloc.cta_group::1"
            r".sync.aligned.shared::cta.b32 [%r142], 32; \1",
        ),
        device="b200",
    ),
    *of(
        "compute_peak",
        "ComputePeakKernels.ProductsInTensorMemory",
        "7tcgen05INS_4Bf16E",
        ("one product too few", r"tcgen05\.mma[^;]*;", NOTHING, 3),
        ("another type", "138413200", "138412048", -1),
        ("another kind", r"kind::f16", "kind::tf32", -1),
        ("columns exchanged", LOAD, r"\1\3, \2\4"),
        ("nobody waits for the load", r"tcgen05\.wait::ld[^;]*;", NOTHING, -1),
        device="b200",
    ),
]

CALLS = [
    *of(
        "divergence",
        "DivergenceKernels.Paths*",
        "branches",
        (
            "another argument",
            r"(st\.param\.f32\s+\[param1\+0\]), %f\d+",
            r"\1, 0f00000000",
        ),
        ("a result that is not taken", r"ld\.param\.f32\s+%f\d+, \[retval0\+0\];", NOTHING),
        ("a result that is put elsewhere", r"call\.uni \(retval0\)", "call.uni (param1)"),
    ),
]

MUTATIONS: list[Mutation] = (
    BARRIERS + INDICES + ASYNCHRONOUS + MATRICES + WARPGROUPS + TENSOR_MEMORY + CALLS
)
MUTATIONS += CLUSTERS + MULTIMEM + BLOCK_SCALES + SCALED_TENSOR_MEMORY + PAIRS + SCALED_PAIRS
MUTATIONS += ATTENTION + SCALED_PRODUCTS
