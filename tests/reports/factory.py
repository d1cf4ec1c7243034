"""Makes valid result files in code, so that every test says what it depends on."""

import math
from typing import Any

DRAM, FP32 = 4.4e12, 6.0e13  # bytes/s, FLOP/s


def roof(name: str, kind: str, value: float, provenance: str = "measured") -> dict[str, Any]:
    return {"name": name, "kind": kind, "value": value, "provenance": provenance, "source": "test"}


def make_roofs(provenance: str = "measured") -> list[dict[str, Any]]:
    """Roofs of a large GPU: as the run found them, and as the data sheet has them."""
    found = {"dram": DRAM, "l2": 1.0e13, "l1": 3.1e13, "shared": 3.1e13}
    peaks = {
        "fp64": 3.1e13,
        "fp32": FP32,
        "fp16x2": 6.1e13,
        "tensor_tf32": 4.2e14,
        "tensor_fp16": 8.0e14,
        "tensor_bf16": 8.0e14,
        "tensor_fp8": 1.6e15,
    }
    sheet = {
        "dram": 4.8e12,
        "fp64": 3.4e13,
        "fp32": 6.7e13,
        "tensor_tf32": 4.95e14,
        "tensor_fp16": 9.9e14,
        "tensor_bf16": 9.9e14,
        "tensor_fp8": 1.98e15,
    }
    return [
        *(roof(name, "bandwidth", value, provenance) for name, value in found.items()),
        *(roof(name, "compute", value, provenance) for name, value in peaks.items()),
        *(
            roof(name, "bandwidth" if name == "dram" else "compute", value, "data_sheet")
            for name, value in sheet.items()
        ),
    ]


def make_row(name: str, seconds: float = 1e-3, **counters: Any) -> dict[str, Any]:
    """A row of that name, `concept/kernel/arg:value/...`; counters (and other keys) as given."""
    concept, kernel, *rest = name.split("/")
    arguments: dict[str, Any] = {}
    for part in rest:
        key, _, text = part.partition(":")
        arguments[key] = int(text) if text.isdigit() else text
    return {
        "name": name,
        "run_name": name,
        "run_type": "iteration",
        "repetitions": 1,
        "repetition_index": 0,
        "threads": 1,
        "iterations": 30,
        "real_time": seconds * 1e6,
        "cpu_time": seconds * 1e6,
        "time_unit": "us",
        "concept": concept,
        "kernel": kernel,
        "arguments": arguments,
        "label": "dram",
        "verified": "full",
        **counters,
    }


def bandwidth_row(name: str, rate: float, law: float | None = None, **more: Any) -> dict[str, Any]:
    """A row that moves 1 GB of useful bytes at `rate`, with a 1 % interval and a prediction."""
    seconds = 1e9 / rate
    counters: dict[str, Any] = {
        "useful_bytes_per_second": rate,
        "ci_low_seconds": seconds * 0.99,
        "ci_high_seconds": seconds * 1.01,
        "model_seconds": seconds * 1.05,
        "converged": 1,
        "roof_fraction": rate / DRAM,
    }
    if law is not None:
        counters |= {"law": law, "law_ratio": rate / law}
    return make_row(name, seconds, **(counters | more))


def compute_row(name: str, intensity: float, rate: float, **more: Any) -> dict[str, Any]:
    """A row with arithmetic intensity [FLOP/byte] and arithmetic rate [FLOP/s]."""
    counters = {"flops_per_second": rate, "arithmetic_intensity": intensity, "label": "fp32"}
    return make_row(name, 1e12 / rate, **(counters | more))


def make_context(**changes: Any) -> dict[str, Any]:
    return {
        "date": "2026-11-21T04:40:00+00:00",
        "host_name": "host",
        "executable": "./build/gpubench",
        "num_cpus": 2,
        "mhz_per_cpu": 2400,
        "cpu_scaling_enabled": False,
        "caches": [],
        "load_avg": [],
        "library_build_type": "release",
        "schema_version": 1,
        "device_kind": "cuda",
        "device": "h200-sxm",
        "device_title": "NVIDIA H200 SXM 141 GB",
        "compute_capability": "9.0",
        "driver_version": "580.65",
        "cuda_version": "13.0",
        "compiler": "nvcc 13.0",
        "compiler_flags": "-O3",
        "git_commit": "0123456789abcdef" * 2,
        "git_dirty": False,
        "suite": "default",
        "mode": "cold",
        "seed": 42,
        "gpubench_version": "0.1.0",
        "roofs": make_roofs(),
        **changes,
    }


def coalescing_rows() -> list[dict[str, Any]]:
    """The concept that everything is about: useful bandwidth by stride, with its law."""
    law = {1: 1.0, 2: 0.5, 4: 0.25, 8: 0.125, 16: 0.0625, 32: 0.0625}
    return [
        bandwidth_row(f"coalescing/{kernel}/stride:{stride}", best * share * 0.97, best * share)
        for kernel, best in (("strided_read", DRAM), ("strided_write", 4.0e12))
        for stride, share in law.items()
    ]


def roofline_rows() -> list[dict[str, Any]]:
    """FMAs an element along the roofline, just under it."""
    return [
        compute_row(f"roofline/fma/fmas:{n}", n / 4, 0.96 * min(FP32, n / 4 * DRAM))
        for n in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
    ]


def make_document(rows: list[dict[str, Any]] | None = None, **context: Any) -> dict[str, Any]:
    """A valid result document: `rows` (default: a few of two concepts) and context changes."""
    chosen = coalescing_rows() + roofline_rows() if rows is None else rows
    return {"context": make_context(**context), "benchmarks": chosen}


def make_large_document(rows: int = 150) -> dict[str, Any]:
    """`rows` rows of eight concepts of different shapes, half of them on the roofline."""
    found = coalescing_rows() + roofline_rows()
    found += [
        bandwidth_row(
            f"bank_conflicts/strided/bytes:{size}/stride:{stride}",
            3e13 / math.gcd(stride * size // 4, 32),
            3.1e13 / math.gcd(stride, 32),
            label="shared",
        )
        for size in (4, 8, 16)
        for stride in (1, 2, 3, 4, 8, 16, 31, 32, 33)
    ]
    found += [
        bandwidth_row(f"stream/{kernel}/dtype:{dtype}", 4.2e12 - 1e11 * index, DRAM)
        for index, kernel in enumerate(("read", "write", "copy", "triad"))
        for dtype in ("fp32", "fp64")
    ]
    found += [
        compute_row(
            f"gemm_ladder/{kernel}/n:{n}",
            n / 6,
            peak * n / (n + 700),
            label="tensor" if "mma" in kernel else "fp32",
        )
        for kernel, peak in (
            ("naive", 4e12),
            ("tiled", 2e13),
            ("registers", 4.5e13),
            ("mma", 4e14),
            ("wgmma", 7e14),
        )
        for n in (128, 256, 512, 1024, 2048, 4096, 8192)
    ]
    found += [
        compute_row(f"compute_peak/fma/dtype:{dtype}", 4096, rate, label=dtype)
        for dtype, rate in (("fp32", 5.9e13), ("fp64", 3.0e13), ("fp16x2", 6.0e13))
    ]
    found += [
        make_row(
            f"launch_overhead/{kernel}/launches:{1 << power}",
            2e-6 * (1 << power) + 4e-6,
            label="launch",
        )
        for kernel in ("stream", "graph")
        for power in range(0, 13, 2)
    ]
    sizes = [1 << power for power in range(10, 34)]
    found += [
        bandwidth_row(
            f"memory_hierarchy/read/size:{size}",
            3e13 if size < 2**18 else 9e12 if size < 2**25 else 4.3e12,
        )
        for size in sizes
    ]
    block = 32
    while len(found) < rows:
        found.append(
            compute_row(
                f"occupancy/fma/ilp:{len(found) % 4 + 1}/block:{block}",
                128,
                5.8e13 * min(1, block * (len(found) % 4 + 1) / 1024),
            )
        )
        block += 32
    return {"context": make_context(), "benchmarks": found[:rows]}
