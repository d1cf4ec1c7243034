"""Errors planted in the PTX of kernels that work at multicast addresses: as in mutations.py."""

from __future__ import annotations

from .mutation import NOTHING, of

LOAD = r"multimem\.ld_reduce\S* (\{[^}]*\}), (\[[^]]*\]);"
STORE = r"multimem\.st\S* (\[[^]]*\]), (\{[^}]*\});"
ADD = r"multimem\.red\S* (\[[^]]*\]), (\{[^}]*\});"

MULTIMEM = [
    *of(
        "all_reduce_switch",
        "AllReduceSwitch*.EveryRankHandsOut*",
        "13add_in_switchIfE",
        ("an ordinary load of a multicast address", LOAD, r"ld.global.v4.b32 \1, \2;"),
        ("an ordinary store to a multicast address", STORE, r"st.global.v4.b32 \1, \2;"),
        (
            "a sum of pairs of half precision",
            r"(ld_reduce\S*)\.add\.v4\.f32",
            r"\1.add.acc::f32.v4.f16x2",
        ),
        ("a load of another place", r"(multimem\.ld_reduce[^[]*\[%rd\d+)\]", r"\1+16]"),
        ("a load that is not aligned", r"(multimem\.ld_reduce[^[]*\[%rd\d+)\]", r"\1+8]"),
        ("a store to another place", r"(multimem\.st[^[]*\[%rd\d+)\]", r"\1+16]"),
        (
            "a store of one sum's place twice",
            r"(multimem\.st[^{]*)\{(%r\d+), %r\d+,",
            r"\1{\2, \2,",
        ),
        ("no store", STORE, NOTHING),
        ("a store that adds", STORE, r"multimem.red.relaxed.sys.global.add.v4.f32 \1, \2;"),
    ),
    *of(
        "all_reduce_switch",
        "AllReduceSwitch*.EveryRankHandsOut*",
        "13add_in_switchI13__nv_bfloat16E",
        ("a sum of half precision", r"v4\.bf16x2", "v4.f16x2"),
        ("sums of fp32", r"add\.acc::f32\.v4\.bf16x2", "add.v4.f32"),
    ),
    *of(
        "all_reduce_switch",
        "AllReduceSwitch*.EveryRankAdds*",
        "10add_to_allI6__halfE",
        ("an ordinary store", ADD, r"st.global.v4.b32 \1, \2;"),
        (
            "a store to all instead of an addition",
            ADD,
            r"multimem.st.relaxed.sys.global.v4.f32 \1, \2;",
        ),
        ("an addition of bfloat16", r"v4\.f16x2", "v4.bf16x2"),
        (
            "an addition of half as much",
            r"(red\S*)\.v4(\S*) (\[[^]]*\]), \{(%r\d+), (%r\d+), [^}]*\}",
            r"\1.v2\2 \3, {\4, \5}",
        ),
    ),
]
