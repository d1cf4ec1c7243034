"""Errors planted in PTX of attention with scores, weights and results in tensor memory."""

from __future__ import annotations

from .mutation import NOTHING, of

WAIT = r"mbarrier\.try_wait[^;]*;\s*@!ended bra waiting;"
# Those behind which tensor memory is used: of the thread that asks for products, four, and of the
# warps, two.
FENCED = rf"{WAIT}(?=\s*\}}(?:\s*//[^\n]*)*\s*(?:\.loc[^\n]*\s*)*(?:\s*//[^\n]*)*\s*tcgen05\.fence)"
AFTER = r"tcgen05\.fence::after_thread_sync;"
BEFORE = r"tcgen05\.fence::before_thread_sync;"
BY_KEYS = r"(kind::f16 \[%r\d+\], %rd\d+, %rd\d+, %r\d+, adds;)"
BY_VALUES = r"(kind::f16 \[%r\d+)(\], \[%r\d+)\]"
OF_KEYS, OF_VALUES = 136316048, 135333008  # bf16, 128 x 128; 128 x 64 with b across k
ACROSS = 1 << 16
PAIR = r"(cvt\.rn\.bf16x2\.f32 %r\d+), (%f\d+), (%f\d+)"
ROW = r"(and\.b32\s+)(%r\d+)(, %r\d+, )127;"  # in its tile, for the mask
MOVED = r"(setp\.(?:gt|leu)\.f32\s+%p\d+, %f\d+), 0f41000000"

ATTENTION = [
    *of(
        "attention",
        "AttentionTest.ByTcgen05With64Elements",
        "7tcgen05ILj64E",
        ("weights that nobody waits for", FENCED, NOTHING),
        ("queries that nobody waits for", FENCED, NOTHING, 1),
        ("scores that nobody waits for", FENCED, NOTHING, 4),
        ("results that nobody waits for", FENCED, NOTHING, 5),
        ("loads that nobody waits for", r"tcgen05\.wait::ld[^;]*;", NOTHING, -1),
        ("stores that nobody waits for", r"tcgen05\.wait::st[^;]*;", NOTHING),
        ("no fence behind the wait for weights", AFTER, NOTHING, 1),
        ("no fence behind the wait for scores", AFTER, NOTHING, 5),
        ("no fence behind the wait for results", AFTER, NOTHING, 6),
        ("no fence before the weights' arrival", BEFORE, NOTHING, 1),
        ("a lost arrival of weights", r"mbarrier\.arrive\.shared[^;]*;", NOTHING),
        ("weights from the next column", BY_VALUES, r"\1\2+1]"),
        ("weights from beyond all columns", BY_VALUES, r"\1\2+512]"),
        ("weights from another lane", BY_VALUES, r"\1\2+65536]"),
        ("results in other columns", BY_VALUES, r"\1+8\2]"),
        ("one product with values too few", rf"tcgen05\.mma[^;]*{BY_VALUES}[^;]*;", NOTHING, 3),
        ("one product with keys too few", rf"tcgen05\.mma[^;]*{BY_KEYS}", NOTHING, 2),
        ("values along k", str(OF_VALUES), str(OF_VALUES - ACROSS), -1),
        ("keys across k", str(OF_KEYS), str(OF_KEYS + ACROSS), -1),
        ("the first product adds", r"selp\.u32(\s+%r\d+), 1, 0, %p\d+", r"mov.u32\1, 1"),
        ("no product adds", r"selp\.u32(\s+%r\d+), 1, 0, %p\d+", r"mov.u32\1, 0"),
        ("a commit of scores that is left out", r"tcgen05\.commit[^;]*;", NOTHING, 1),
        ("a commit of results that is left out", r"tcgen05\.commit[^;]*;", NOTHING),
        ("masks that hide one key too many", ROW, r"\1\2\g<3>126;"),
        ("masks that hide one key too few", ROW, r"\1\2\g<3>127; or.b32 \2, \2, 1;"),
        ("no scale", r"ld\.param\.f32(\s+%f\d+), [^;]*;", r"mov.f32\1, 0f3F800000;"),
        ("no correction of results", r"tcgen05\.st[^;]*\{%f[^;]*;", NOTHING),
        (
            "no correction of a sum",
            r"(setp\.eq\.s32\s+%p\d+, %r\d+, 0;\s*(?:\.loc[^\n]*\s*)*)mul\.f32 [^;]*;",
            r"\1",
        ),
        ("largest scores that nobody heeds", MOVED, r"\1, 0f7F800000", -1),
        ("weights of two keys exchanged", PAIR, r"\1, \3, \2"),
        ("too few columns", r"(tcgen05\.alloc[^;]*), 512;", r"\1, 256;"),
        ("columns that are kept", r"tcgen05\.dealloc[^;]*;", NOTHING),
        device="b200",
    ),
    *of(
        "attention",
        "AttentionTest.ByTcgen05With128Elements",
        "7tcgen05ILj128E",
        ("values of the first panel alone", "4611756662116581376", "4611756662049472512", -1),
        device="b200",
    ),
]
