"""Errors planted in PTX of a whole product with block scales, by tcgen05."""

from __future__ import annotations

from .attention_mutations import AFTER, BEFORE, WAIT
from .block_scale_mutations import COPY, SCALED_UMMA
from .mutation import NOTHING, of
from .pair_mutations import COMMIT, EVEN, EVEN_BLOCK, FENCES, RANK
from .pair_mutations import COPY as BOX

SECOND = "683671568"  # mxfp8, 128 x 256, both scales from the second byte on
# Each of the two serves for both waits; what is first is a wait without one, of who brings tiles.
NO_FENCE = r"(?:(?!fence::)[\s\S])*?"
BOTH_FENCES = rf"(ended, \[[^;]*;{NO_FENCE}){AFTER}({NO_FENCE}){AFTER}"
ADDS = r"selp\.u32(\s+%r\d+), 1, 0, %p\d+"

SCALED_PRODUCTS = [
    *of(
        "precision_tcgen05",
        "PrecisionOwnKernels.Mxfp8ByTcgen05",
        "7tcgen05INS_5Mxfp8E",
        ("scales exchanged", SCALED_UMMA, r"\1[\2], \3, \4, \5, [\7], [\6]", 1),
        ("factors exchanged", SCALED_UMMA, r"\1[\2], \4, \3, \5, [\6], [\7]", 1),
        ("a's scales for b's too", SCALED_UMMA, r"\1[\2], \3, \4, \5, [\6], [\6]", 1),
        ("another byte of a's scales", SECOND, str(int(SECOND) - (1 << 29))),
        ("another byte of b's scales", SECOND, str(int(SECOND) - (1 << 4))),
        ("a's scales that nobody copies", COPY, NOTHING),
        ("scales of half of b that nobody copies", COPY, NOTHING, 2),
        ("a copy to the next columns", r"(tcgen05\.cp\S* \[%r\d+)\]", r"\1+4]", 1),
        ("scales that nobody brings", r"cp\.async\.bulk\.shared[^;]*;", NOTHING, 2),
        ("one product too few", r"tcgen05\.mma[^;]*;", NOTHING, 2),
        ("the first product adds", ADDS, r"mov.u32\1, 1"),
        ("the first product of each step does not add", ADDS, r"mov.u32\1, 0"),
        ("stages that nobody waits for", WAIT, NOTHING),
        ("columns that nobody waits for", WAIT, NOTHING, 1),
        ("steps that nobody waits for", WAIT, NOTHING, 2),
        ("sums that nobody waits for", WAIT, NOTHING, 3),
        ("no fence behind the waits for columns and for a step", BOTH_FENCES, r"\1\2"),
        ("no fence behind the wait for sums", AFTER, NOTHING, 3),
        ("no fence before columns are given up", BEFORE, NOTHING, 1),
        ("a commit of a step that is left out", r"tcgen05\.commit[^;]*;", NOTHING),
        ("a commit of a tile that is left out", r"tcgen05\.commit[^;]*;", NOTHING, 1),
        ("columns that are not given up", r"mbarrier\.arrive\.shared[^;]*;", NOTHING),
        ("columns that are given up too early", r"(setp\.ne\.s32\s+%p\d+, %r\d+), 32;", r"\1, 0;"),
        ("both tiles in the same columns", r"(selp\.b32\s+%r\d+), 192,", r"\1, 0,", -1),
        ("loads that nobody waits for", r"tcgen05\.wait::ld[^;]*;", NOTHING),
        ("too few columns", r"(tcgen05\.alloc[^;]*), 512;", r"\1, 256;"),
        ("columns that are kept", r"tcgen05\.dealloc[^;]*;", NOTHING),
        device="b200",
    ),
    *of(
        "precision_tcgen05",
        "PrecisionOwnKernels.Nvfp4ByTcgen05",
        "7tcgen05INS_5Nvfp4E",
        ("scales exchanged", SCALED_UMMA, r"\1[\2], \3, \4, \5, [\7], [\6]", 2),
        ("scales of half of b that nobody copies", COPY, NOTHING, 8),
        (
            "no scale of whole matrices",
            r"ld\.param\.f32(\s+%f\d+), [^;]*;",
            r"mov.f32\1, 0f3F800000;",
        ),
        device="b200",
    ),
    *of(
        "precision_tcgen05",
        "PrecisionOwnKernels.Mxfp8OfPairsByTcgen05",
        "12tcgen05_pairINS_5Mxfp8E",
        ("scales exchanged", SCALED_UMMA, r"\1[\2], \3, \4, \5, [\7], [\6]", 1),
        ("copies of one block", r"cp\.cta_group::2", "cp.cta_group::1", -1),
        ("products of one block", r"mma\.cta_group::2", "mma.cta_group::1", -1),
        ("scales of half of b that nobody copies", COPY, NOTHING, 2),
        ("scales that arrive in their own block", BOX, r"\1\2\3, \4\5]", 4),
        ("commits to one block", COMMIT, r"\1\2;", -1),
        ("columns that are given up in the odd block", EVEN, r"\1, 1;", -1),
        ("both blocks the even one", RANK, EVEN_BLOCK, -1),
        ("columns that are kept", r"tcgen05\.dealloc[^;]*;", NOTHING),
        *FENCES,
        device="b200",
    ),
    *of(
        "precision_tcgen05",
        "PrecisionOwnKernels.Nvfp4OfPairsByTcgen05",
        "12tcgen05_pairINS_5Nvfp4E",
        ("scales of half of b that nobody copies", COPY, NOTHING, 8),
        device="b200",
    ),
]
