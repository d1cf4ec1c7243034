"""Errors planted in the PTX of kernels whose blocks run in clusters: as in mutations.py."""

from __future__ import annotations

from .mutation import NOTHING, of

ARRIVE, WAIT = r"barrier\.cluster\.arrive\S*;", r"barrier\.cluster\.wait\S*;"
MEET = rf"{ARRIVE}\s*{WAIT}"
COPY = r"(cp\.async\.bulk\.\S*)\.multicast::cluster( \[[^;]*\])"

CLUSTERS = [
    *of(
        "clusters",
        "ClustersKernels.EveryBlock*",
        "4read",
        ("read before the cluster has met", MEET, NOTHING),
        ("blocks that end while they are read", MEET, NOTHING, 1),
        ("a wait for the cluster without arrival", ARRIVE, NOTHING),
        ("two arrivals at the cluster's barrier without a wait", WAIT, NOTHING),
        ("always the first block's memory", r"(mapa\.u64[^;]*), %r\d+;", r"\1, 0;"),
        ("memory of a block beyond the cluster", r"(mapa\.u64[^;]*), %r\d+;", r"\1, 16;"),
    ),
    *of(
        "clusters",
        "ClustersKernels.ATile*",
        "5bringILb1E",
        ("copies before the cluster has met", MEET, NOTHING),
        ("a copy to the block itself alone", rf"({COPY}), %rs\d+;", r"\1, 1;"),
        ("a copy to blocks beyond the cluster", rf"({COPY}), %rs\d+;", r"\1, 65535;"),
        ("a copy to nobody", rf"({COPY}), %rs\d+;", r"\1, 0;"),
        ("a copy that is no multicast", rf"{COPY}, %rs\d+;", r"\1\2;"),
        ("fewer bytes expected", r"(mov\.u32\s+%r\d+), 98304;", r"\1, 49152;"),
        ("a tile that is replaced while another block reads it", MEET, NOTHING, 1),
        ("nobody waits for the tile", r"mbarrier\.try_wait[^;]*;", NOTHING),
        ("no fence behind an mbarrier's initialisation", r"fence\.mbarrier_init[^;]*;", NOTHING),
        ("waits in the scope of the block", r"acquire\.cluster\.shared", "acquire.cta.shared", -1),
    ),
    *of(
        "clusters",
        "ClustersKernels.SumsOf*",
        "3sum",
        ("words fetched before all are there", MEET, NOTHING),
        ("a rank for another", r"%cluster_ctarank", "%ctaid.x"),
    ),
]
