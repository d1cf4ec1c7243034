"""Errors planted in PTX of products that a pair of blocks makes together (cta_group::2)."""

from __future__ import annotations

from .mutation import NOTHING, of

UMMA = r"(tcgen05\.mma\S+ )\[(%r\d+)\], (%rd\d+), (%rd\d+), "
COMMIT = r"(tcgen05\.commit\S*)\.multicast::cluster(\S* \[%r\d+\]), %rs\d+;"
MEET = r"barrier\.cluster\.arrive\S*;\s*barrier\.cluster\.wait\S*;"
INSTRUCTION = 272630928  # bf16, 256 x 256

COPY = r"(tensor\.2d\S*)\.cta_group::2( \[%r\d+\], [^;]*\{)(%r\d+), (%r\d+)(\}\], \[%r\d+)\]"
INIT = r"fence\.mbarrier_init[^;]*;"
FENCES = (
    ("no fence behind an mbarrier's initialisation", INIT, NOTHING),
    (
        "no fence for the other block's Tensor Cores and copies",
        rf"({INIT})\s*fence\.proxy\.async\.shared::cluster;",
        r"\1",
    ),
    ("waits in the scope of the block", r"acquire\.cluster\.shared", "acquire.cta.shared", -1),
)
# A block's rank among those of its cluster, and what makes all of them the even or the odd one.
RANK = r"(mov\.u32\s+%r\d+), %cluster_ctarank;"
EVEN_BLOCK, ODD_BLOCK = r"\1, 0;", r"\1, 1;"
EVEN = r"(mapa\.shared::cluster\.u32[^;]*), %r\d+;"

PAIRS = [
    *of(
        "compute_peak",
        "ComputePeakKernels.ProductsOfPairsInTensorMemory",
        "12tcgen05_pairINS_4Bf16E",
        ("products of one block", r"mma\.cta_group::2", "mma.cta_group::1", -1),
        ("an allocation of one block", r"alloc\.cta_group::2", "alloc.cta_group::1"),
        ("a deallocation of one block", r"dealloc\.cta_group::2", "dealloc.cta_group::1"),
        ("a commit of one block", r"commit\.cta_group::2", "commit.cta_group::1"),
        ("one product too few", r"tcgen05\.mma[^;]*;", NOTHING, 3),
        ("factors exchanged", UMMA, r"\1[\2], \4, \3, ", 5),
        ("half the rows", str(INSTRUCTION), str(INSTRUCTION - (8 << 24)), -1),
        ("half the columns", str(INSTRUCTION), str(INSTRUCTION - (16 << 17)), -1),
        ("columns that no pair can share", str(INSTRUCTION), str(INSTRUCTION - (2 << 17)), -1),
        ("factors of fp16", str(INSTRUCTION), str(INSTRUCTION - 0x480), -1),
        ("sums beyond all columns", UMMA, r"\1[\2+512], \3, \4, ", -1),
        ("both blocks the even one", RANK, EVEN_BLOCK, -1),
        ("both blocks the odd one", RANK, ODD_BLOCK, -1),
        ("a commit to one block", COMMIT, r"\1\2;"),
        ("a commit that is left out", r"tcgen05\.commit[^;]*;", NOTHING),
        ("an allocation before the cluster has met", MEET, NOTHING),
        ("products before the cluster has met", MEET, NOTHING, 1),
        ("other columns for each block", r"(tcgen05\.alloc[^;]*), 256;", r"\1, 512;"),
        ("columns that are kept", r"tcgen05\.dealloc[^;]*;", NOTHING),
        ("nobody waits for the load", r"tcgen05\.wait::ld[^;]*;", NOTHING, -1),
        *FENCES,
        ("a fence that there is not", r"(mbarrier_init\.release)\.cluster", r"\1.gpu"),
        device="b200",
    ),
    *of(
        "gemm_ladder",
        "GemmLadderTest.Bf16ByTcgen05OfPairs",
        "12tcgen05_pairE",
        ("factors exchanged", UMMA, r"\1[\2], \4, \3, ", -1),
        ("always added", r"setp\.ne\.u32 adds, %r\d+, 0;", "setp.eq.u32 adds, 0, 0;", -1),
        ("half the rows", str(INSTRUCTION), str(INSTRUCTION - (8 << 24)), -1),
        ("commits to one block", COMMIT, r"\1\2;", -1),
        ("the last commit left out", r"tcgen05\.commit[^;]*;(?![\s\S]*tcgen05\.commit)", NOTHING),
        ("copies that arrive in their own block", COPY, r"\1\2\3, \4\5]", -1),
        ("a copy that arrives at the next barrier", COPY, r"\1.cta_group::2\2\3, \4\5+8]", -1),
        (
            "row and column of a box exchanged",
            COPY,
            r"\1.cta_group::2\2\4, \3\5]",
            -1,
        ),
        ("arrivals in the odd block", EVEN, r"\1, 1;", -1),
        ("arrivals in a block beyond the cluster", EVEN, r"\1, 2;", -1),
        (
            "a lost arrival of a warp that has read its sums",
            r"mbarrier\.arrive\.release\.cluster\.shared::cluster[^;]*;",
            NOTHING,
            -1,
        ),
        ("both blocks the even one", RANK, EVEN_BLOCK, -1),
        ("an allocation before the cluster has met", MEET, NOTHING),
        ("copies before the cluster has met", MEET, NOTHING, 1),
        ("columns that are kept", r"tcgen05\.dealloc[^;]*;", NOTHING),
        ("loads that nobody waits for", r"tcgen05\.wait::ld[^;]*;", NOTHING, -1),
        *FENCES,
        device="b200",
    ),
]
