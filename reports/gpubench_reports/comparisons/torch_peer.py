"""What PyTorch makes of copies, multiplications and attention: a result file of its own.

    python3 torch_peer.py OUT.json

Runs under whatever Python has PyTorch, and needs nothing else. Random data throughout; each sample
is a batch between two events, long enough for their resolution.
"""

import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

BATCH_SECONDS = 5e-3
SAMPLES = 31
COPY_BYTES = 256 * 2**20  # of each of the two arrays
SIDE = 8192  # of the matrices
HEADS, TOKENS, HEAD_DIM = 16, 16384, 128


def sample(run: Callable[[], Any]) -> list[float]:
    """Seconds a run, in SAMPLES batches."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def batch(count: int) -> float:
        begin.record()
        for _ in range(count):
            run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3 / count

    batch(3)  # loads, chooses, allocates
    count = max(1, round(BATCH_SECONDS / batch(3)))
    batch(count)
    return [batch(count) for _ in range(SAMPLES)]


def row(name: str, run: Callable[[], Any], **amounts: float) -> dict[str, Any]:
    """A row of a result file; of what this PyTorch or GPU cannot do, a skipped one."""
    concept, kernel, *_ = name.split("/")
    known = {
        "name": name,
        "run_name": name,
        "run_type": "iteration",
        "repetitions": 1,
        "repetition_index": 0,
        "threads": 1,
        "concept": concept,
        "kernel": kernel,
    }
    try:
        seconds = sorted(sample(run))
    except (RuntimeError, AttributeError, ImportError) as error:
        why = str(error).splitlines() or [type(error).__name__]
        return known | {"skipped": True, "skip_reason": why[0]}
    median = statistics.median(seconds)
    # Ranks of the 95 % interval of a median of 31: 10th from either end.
    return (
        known
        | {
            "iterations": len(seconds),
            "real_time": median * 1e6,
            "cpu_time": median * 1e6,
            "time_unit": "us",
            "ci_low_seconds": seconds[9],
            "ci_high_seconds": seconds[-10],
            "min_seconds": seconds[0],
            "samples": len(seconds),
        }
        | {f"{what}_per_second": amount / median for what, amount in amounts.items()}
    )


def copy() -> dict[str, Any]:
    source = torch.randn(COPY_BYTES // 4, device="cuda")
    target = torch.empty_like(source)
    return row(
        f"pytorch/copy/size:{COPY_BYTES}",
        lambda: target.copy_(source),
        useful_bytes=2.0 * COPY_BYTES,
    )


def matmul(dtype: str) -> dict[str, Any]:
    name = f"pytorch/matmul/dtype:{dtype}/m:{SIDE}/n:{SIDE}/k:{SIDE}"
    flops = 2.0 * SIDE**3
    a, b = (torch.randn(SIDE, SIDE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    if dtype == "bf16":
        return row(name, lambda: a @ b.T, flops=flops)

    def fp8() -> Callable[[], Any]:
        one = torch.ones((), device="cuda")
        left, right = a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn)
        return lambda: torch._scaled_mm(
            left, right.T, scale_a=one, scale_b=one, out_dtype=torch.bfloat16
        )

    made: list[Callable[[], Any]] = []

    def run() -> Any:
        if not made:
            made.append(fp8())
        return made[0]()

    return row(name, run, flops=flops)


def attention(path: str) -> dict[str, Any]:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    shape = (1, HEADS, TOKENS, HEAD_DIM)
    q, k, v = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(3))

    def run() -> Any:
        with sdpa_kernel(getattr(SDPBackend, path.upper())):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v)

    return row(
        f"pytorch/attention/path:{path}/seq:{TOKENS}/head_dim:{HEAD_DIM}",
        run,
        flops=4.0 * HEADS * TOKENS**2 * HEAD_DIM,
    )


def main(out: str) -> int:
    torch.manual_seed(42)
    title = torch.cuda.get_device_name()
    with torch.inference_mode():
        rows = [copy(), matmul("bf16"), matmul("fp8")]
        rows += [
            attention(path)
            for path in ("flash_attention", "efficient_attention", "cudnn_attention")
        ]
    context = {
        "schema_version": 1,
        "device_kind": "cuda",
        "device": title,
        "device_title": title,
        "imported_from": f"PyTorch {torch.__version__}",
        "cuda_version": str(torch.version.cuda),
        "roofs": [],
    }
    Path(out).write_text(json.dumps({"context": context, "benchmarks": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
