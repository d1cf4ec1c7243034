"""The plans for one device, and what is said of a plan."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpubench_reports.jobs.search import Plan
from gpubench_reports.results.context import Context

PARTS = ("compute", "bandwidth", "communication", "bubble")  # of a Step
_GIB = float(1 << 30)


@dataclass(frozen=True)
class Forecast:
    context: Context
    plans: Sequence[Plan]


def memory_text(plan: Plan) -> str:
    """What a GPU needs; empty where nothing was tried."""
    return f"{plan.needed_bytes / _GIB:.0f} GiB" if plan.needed_bytes else ""


def split_text(plan: Plan) -> str:
    """How the work is split, or why it cannot be."""
    if plan.choice is None:
        return plan.why
    job = plan.choice.job
    words = [f"dp {job.data} x tp {job.tensor} x pp {job.pipeline}"]
    if job.interleave > 1:
        words.append(f"{job.interleave} parts per stage")
    words.append(f"microbatch {job.microbatch}")
    sharded = {"none": "", "optimizer": "optimizer sharded", "full": "all sharded"}
    recomputed = {"none": "", "selective": "attention recomputed", "full": "recomputed"}
    words += [sharded[job.sharding], recomputed[job.recompute]]
    return ", ".join(word for word in words if word)
