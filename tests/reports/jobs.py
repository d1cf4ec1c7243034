"""A machine that can be computed by hand, and files with the rows that a job needs."""

from typing import Any

import numpy as np

from gpubench_reports.jobs.collectives import Collectives
from gpubench_reports.jobs.job import Job
from gpubench_reports.jobs.machine import SUSTAINED, Machine
from gpubench_reports.jobs.model import Model

from .factory import bandwidth_row, make_row

RATE, BANDWIDTH = 1e12, 1e9  # FLOP/s of all that multiplies, in a training; B/s
ALPHA, BETA = 1e-3, 1e-9  # s, s per byte of an all-reduce
# Without an output layer worth mentioning, so that all stages take the same time.
MODEL = Model("tiny", 4, 64, 256, 4, 4, 1, False, True)


def line(alpha: float, beta: float) -> tuple[np.ndarray, np.ndarray]:
    sizes = 4.0 ** np.arange(2, 20)
    return sizes, alpha + beta * sizes


def collectives(alpha: float = ALPHA, beta: float = BETA, node: int = 8) -> Collectives:
    """The same time for any number of GPUs, in a node and across nodes."""
    return Collectives({"all_reduce": {n: line(alpha, beta) for n in (2, 8, 16, 64)}}, node)


def machine(bandwidth: float = BANDWIDTH, memory: float = 1e12, **links: Any) -> Machine:
    constant = np.log([1.0, 1e30]), np.log([RATE, RATE]) - np.log(SUSTAINED)
    attention = {
        (way, 16.0): (np.array([128.0]), np.array([RATE / SUSTAINED]))
        for way in ("tiled", "standard")
    }
    return Machine(
        peak=2 * RATE,
        memory_bytes=memory,
        products=constant,
        attention=attention,
        bandwidth=bandwidth,
        collectives=collectives(**links),
        network=1e9,
    )


def job(**changes: Any) -> Job:
    fields: dict[str, Any] = {"model": MODEL, "gpus": 1, "sequence": 128, "batch": 8}
    return Job(**fields | {"overlap": frozenset()} | changes)


FREE = {"bandwidth": 1e30, "alpha": 1e-30, "beta": 1e-30}  # only what multiplies takes time


def rows() -> list[dict[str, Any]]:
    """Rows of one size each that do, in the names of the suite."""
    found = [
        make_row(f"gemm_ladder/library/dtype:bf16/n:{n}", 2 * n**3 / 7e14, flops_per_second=7e14)
        for n in (2048, 8192)
    ]
    found += [
        make_row(f"attention/{way}/seq:2048/head_dim:128/causal:1", 1e-3, flops_per_second=rate)
        for way, rate in (("tiled", 3e14), ("standard", 1e14))
    ]
    found.append(bandwidth_row("stream/copy/dtype:fp32/bytes:16/unroll:4", 3e12))
    found += [
        make_row(
            f"all_reduce/all_reduce/dtype:fp32/place:out/ranks:{ranks}/size:{size}",
            2e-5 + size / rate,
            useful_bytes_per_second=size / (2e-5 + size / rate),
        )
        for ranks, rate in ((2, 3e11), (8, 2.5e11), (16, 2e11), (64, 1.8e11))
        for size in (1 << 20, 1 << 30)
    ]
    return found
