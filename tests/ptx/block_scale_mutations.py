"""Errors planted in PTX of products with block scales."""

from __future__ import annotations

from .mutation import MMA, NOTHING, of
from .pair_mutations import EVEN_BLOCK, MEET, ODD_BLOCK, RANK

# Sums, a, b, descriptor, and where the scales of a and b are.
SCALED_UMMA = (
    r"(tcgen05\.mma\S*block_scale\S* )\[(%r\d+)\], (%rd\d+), (%rd\d+), (%r\d+|-?\d+),"
    r" \[(%r\d+)\], \[(%r\d+)\]"
)
COPY = r"tcgen05\.cp[^;]*;"

SCALED_TENSOR_MEMORY = [
    *of(
        "compute_peak",
        "ComputePeakKernels.ProductsWithScalesInTensorMemory",
        "14scaled_tcgen05INS_5Mxfp8E",
        ("scales exchanged", SCALED_UMMA, r"\1[\2], \3, \4, \5, [\7], [\6]", 5),
        ("factors exchanged", SCALED_UMMA, r"\1[\2], \4, \3, \5, [\6], [\7]", 5),
        ("a's scales for b's too", SCALED_UMMA, r"\1[\2], \3, \4, \5, [\6], [\6]", 5),
        ("sums for scales", SCALED_UMMA, r"\1[\2], \3, \4, \5, [\2], [\7]", 5),
        ("a copy that is left out", COPY, NOTHING),
        ("b's last copy left out", COPY, NOTHING, 5),
        ("a copy to the next columns", r"(tcgen05\.cp\S* \[%r\d+)\]", r"\1+4]", 2),
        ("a copy beyond all columns", r"(tcgen05\.cp\S* \[%r\d+)\]", r"\1+512]"),
        ("one product too few", r"tcgen05\.mma[^;]*;", NOTHING, 3),
        ("another byte of a's scales", "145752080", str(145752080 | 1 << 29), -1),
        ("another byte of b's scales", "145752080", str(145752080 | 2 << 4), -1),
        ("scales of another type", "145752080", str(145752080 - (1 << 23)), -1),
        ("sums of another number", "145752080", str(145752080 - (2 << 17)), -1),
        (
            "another kind",
            r"mxf8f6f4\.block_scale\.scale_vec::1X",
            "mxf4nvf4.block_scale.scale_vec::4X",
            -1,
        ),
        device="b200",
    ),
    *of(
        "compute_peak",
        "ComputePeakKernels.ProductsWithScalesInTensorMemory",
        "14scaled_tcgen05INS_5Nvfp4E",
        ("scales exchanged", SCALED_UMMA, r"\1[\2], \3, \4, \5, [\7], [\6]", 5),
        ("elements for scales", r"(tcgen05\.cp\S* \[%r\d+\], )%rd\d+", r"\1%rd1", 1),
        ("without scales", r"mxf4nvf4\.block_scale\.scale_vec::4X", "f8f6f4", -1),
        ("a commit that is left out", r"tcgen05\.commit[^;]*;", NOTHING),
        device="b200",
    ),
]

PAIR = "279969808"  # mxfp8, 256 x 192, b's scales from the second byte on

SCALED_PAIRS = [
    *of(
        "compute_peak",
        "ComputePeakKernels.ProductsOfPairsWithScalesInTensorMemory",
        "19scaled_tcgen05_pairINS_5Mxfp8E",
        ("scales exchanged", SCALED_UMMA, r"\1[\2], \3, \4, \5, [\7], [\6]", 5),
        ("a's scales for b's too", SCALED_UMMA, r"\1[\2], \3, \4, \5, [\6], [\6]", 5),
        ("copies of one block", r"cp\.cta_group::2", "cp.cta_group::1", -1),
        ("products of one block", r"mma\.cta_group::2", "mma.cta_group::1", -1),
        ("a copy that is left out", COPY, NOTHING),
        ("b's last copy left out", COPY, NOTHING, 5),
        ("a copy to the next columns", r"(tcgen05\.cp\S* \[%r\d+)\]", r"\1+4]", 2),
        ("a copy beyond all columns", r"(tcgen05\.cp\S* \[%r\d+)\]", r"\1+512]"),
        ("half the rows", PAIR, str(int(PAIR) - (8 << 24)), -1),
        ("columns that no pair can share", PAIR, str(int(PAIR) - (2 << 17)), -1),
        ("another byte of b's scales", PAIR, str(int(PAIR) | 2 << 4), -1),
        ("both blocks the odd one", RANK, ODD_BLOCK, -1),
        ("copies before the cluster has met", MEET, NOTHING, 1),
        device="b200",
    ),
    *of(
        "compute_peak",
        "ComputePeakKernels.ProductsOfPairsWithScalesInTensorMemory",
        "19scaled_tcgen05_pairINS_5Nvfp4E",
        ("both blocks the even one", RANK, EVEN_BLOCK, -1),
        ("without scales", r"mxf4nvf4\.block_scale\.scale_vec::4X", "f8f6f4", -1),
        device="b200",
    ),
]

# Sums, a, b and what is added; scales and selectors of a; and of b.
SCALED = r"(mma\.sync\S*block_scale[^;]*\}, )(%r\d+), \{(\d), (\d)\}, (%r\d+), \{(\d), (\d)\}"

BLOCK_SCALES = [
    *of(
        "compute_peak",
        "ComputePeakKernels.MatricesWithBlockScales",
        "10scaled_mmaINS_5Mxfp8E",
        ("a's and b's scales exchanged", SCALED, r"\1\5, {\3, \4}, \2, {\6, \7}"),
        ("another byte of a's scales", SCALED, r"\1\2, {3, \4}, \5, {\6, \7}"),
        ("a's scales of other lanes", SCALED, r"\1\2, {\3, 1}, \5, {\6, \7}"),
        ("another byte of b's scales", SCALED, r"\1\2, {\3, \4}, \5, {3, \7}"),
        ("b's scales of another lane", SCALED, r"\1\2, {\3, \4}, \5, {\6, 3}"),
        ("scales beyond their register", SCALED, r"\1\2, {4, \4}, \5, {\6, \7}"),
        ("one product too few", r"mma\.sync[^;]*;", NOTHING, 7),
        ("sums exchanged", MMA, r"\1{\3, \2, ", -1),
        ("scales in the way", r"kind::mxf8f6f4\.block_scale\.scale_vec::1X\.", NOTHING, -1),
        device="rtx-5090",
    ),
    *of(
        "compute_peak",
        "ComputePeakKernels.MatricesWithBlockScales",
        "10scaled_mmaINS_5Nvfp4E",
        ("a's scales of other lanes", SCALED, r"\1\2, {\3, 1}, \5, {\6, \7}"),
        ("b's scales of another lane", SCALED, r"\1\2, {\3, \4}, \5, {\6, 3}"),
        ("scales from the second byte on", SCALED, r"\1\2, {1, \4}, \5, {\6, \7}"),
        (
            "a's halves along k exchanged",
            r"(mma\.sync\S*ue4m3 \{[^}]*\}, \{)(%r\d+), (%r\d+), (%r\d+)",
            r"\1\4, \3, \2",
        ),
        ("scales of another type", r"ue4m3", "ue8m0", -1),
        device="rtx-5090",
    ),
]
