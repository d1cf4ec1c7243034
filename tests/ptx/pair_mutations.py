"""Errors planted in PTX of products that a pair of blocks makes together (cta_group::2)."""

from __future__ import annotations

from .mutation import NOTHING, of

UMMA = r"(tcgen05\.mma\S+ )\[(%r\d+)\], (%rd\d+), (%rd\d+), "
COMMIT = r"(tcgen05\.commit\S*)\.multicast::cluster(\S* \[%r\d+\]), %rs\d+;"
MEET = r"barrier\.cluster\.arrive\S*;\s*barrier\.cluster\.wait\S*;"
INSTRUCTION = 272630928  # bf16, 256 x 256

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
        ("both blocks the even one", r"(mov\.u32\s+%r\d+), %cluster_ctarank;", r"\1, 0;", -1),
        ("both blocks the odd one", r"(mov\.u32\s+%r\d+), %cluster_ctarank;", r"\1, 1;", -1),
        ("a commit to one block", COMMIT, r"\1\2;"),
        ("a commit that is left out", r"tcgen05\.commit[^;]*;", NOTHING),
        ("products before the cluster has met", MEET, NOTHING),
        ("other columns for each block", r"(tcgen05\.alloc[^;]*), 256;", r"\1, 512;"),
        ("columns that are kept", r"tcgen05\.dealloc[^;]*;", NOTHING),
        ("nobody waits for the load", r"tcgen05\.wait::ld[^;]*;", NOTHING, -1),
        device="b200",
    ),
]
