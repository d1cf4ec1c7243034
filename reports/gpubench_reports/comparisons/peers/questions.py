"""What is asked of every program, and which of their rows answer it."""

import math
from dataclasses import dataclass
from typing import Any

from gpubench_reports.results.checking import number_of

_RATE, _FLOPS, _BUS = "useful_bytes_per_second", "flops_per_second", "bus_bytes_per_second"


@dataclass(frozen=True)
class What:
    """A question that several programs answer: the figure (the best of the rows that match), our
    rows, and the rows of any other program."""

    name: str
    figure: str
    ours: str
    theirs: str
    note: str = ""

    @property
    def unit(self) -> str:
        return "FLOP/s" if self.figure == _FLOPS else "B/s"


_BEST = r"dtype:fp(32|64)/bytes:16/unroll:(4|8)$"
_ATTENTION = r"^attention/tiled/seq:16384/head_dim:128/causal:0$"
WHATS = (
    What(
        "copy",
        _RATE,
        rf"^stream/copy/{_BEST}",
        r"^(stream/copy/|pytorch/copy/|nvbench/throughput)",
        "bytes read and written; nvbench copies 64 MiB, which L2 holds in part",
    ),
    What("triad", _RATE, rf"^stream/triad/{_BEST}", r"^stream/triad/"),
    What("add", _RATE, rf"^stream/add/{_BEST}", r"^stream/add/"),
    What("scale", _RATE, rf"^stream/scale/{_BEST}", r"^stream/scale/"),
    What("dot", _RATE, rf"^stream/dot/{_BEST}", r"^stream/dot/"),
    What("read", _RATE, rf"^stream/read/{_BEST}", r"^stream/read/"),
    What("write", _RATE, rf"^stream/write/{_BEST}", r"^stream/write/"),
    What(
        "host to device",
        _RATE,
        r"^transfer/h2d/memory:pinned/size:(16777216|[0-9]{9,})$",
        r"^nvbandwidth/host_to_device_memcpy_ce/",
    ),
    What(
        "device to host",
        _RATE,
        r"^transfer/d2h/memory:pinned/size:(16777216|[0-9]{9,})$",
        r"^nvbandwidth/device_to_host_memcpy_ce/",
    ),
    What("fp32", _FLOPS, r"^compute_peak/fma/dtype:fp32", r"^roofline/mixbench/dtype:fp32/"),
    What("fp64", _FLOPS, r"^compute_peak/fma/dtype:fp64", r"^roofline/mixbench/dtype:fp64/"),
    What(
        "matmul bf16",
        _FLOPS,
        r"^gemm_ladder/library/dtype:bf16/n:(4096|8192|16384)$",
        r"^pytorch/matmul/dtype:bf16/",
        "ours: the fastest of cuBLASLt's first 16 algorithms; random data both",
    ),
    What(
        "matmul bf16, own kernel",
        _FLOPS,
        r"^gemm_ladder/(wgmma_tma|tcgen05|tcgen05_pair)/.*/n:(4096|8192|16384)$",
        r"^pytorch/matmul/dtype:bf16/",
        "ours: wgmma, or tcgen05 by one SM or two, with TMA; random data both",
    ),
    What(
        "matmul fp8",
        _FLOPS,
        r"^gemm_ladder/library/dtype:fp8/n:(4096|8192|16384)$",
        r"^pytorch/matmul/dtype:fp8/",
        "ours: the fastest of cuBLASLt's first 16 algorithms; random data both",
    ),
    What(
        "attention",
        _FLOPS,
        _ATTENTION,
        r"^pytorch/attention/",
        "theirs: the best of PyTorch's paths; 16 heads, random data",
    ),
    What(
        "attention, memory-efficient",
        _FLOPS,
        _ATTENTION,
        r"^pytorch/attention/path:efficient_attention/",
    ),
    What(
        "all-reduce, 2 GPUs",
        _BUS,
        r"^all_reduce/all_reduce/.*/ranks:2/size:536870912$",
        r"^all_reduce/all_reduce/.*/ranks:2/",
    ),
)


def figure_of(raw: dict[str, Any], figure: str) -> float:
    value = raw.get(figure)
    return math.nan if isinstance(value, str) else number_of(value)
