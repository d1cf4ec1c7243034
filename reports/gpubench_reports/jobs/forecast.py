"""The plans for one device, and what is said of a plan."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from gpubench_reports.common.units import si
from gpubench_reports.jobs.job import Job
from gpubench_reports.jobs.ranges import Range, known_ranges
from gpubench_reports.jobs.search import Plan
from gpubench_reports.results.context import Context
from gpubench_reports.results.doubts import Doubts

PARTS = ("compute", "bandwidth", "communication", "bubble")  # of a Step
_GIB = float(1 << 30)
_SHARDED = {"none": "", "optimizer": "optimizer sharded", "full": "all sharded"}
_RECOMPUTED = {"none": "", "selective": "attention recomputed", "full": "recomputed"}


@dataclass(frozen=True)
class Forecast:
    """`batch` is in tokens per step. `tokens` are those of a whole training, if asked for. `rows`
    and `doubts` are those of the machine."""

    context: Context
    plans: Sequence[Plan]
    batch: int
    tokens: int | None = None
    rows: int = 0
    doubts: Doubts = field(default_factory=dict)

    def range_of(self, plan: Plan) -> Range | None:
        """What the published trainings of its kind showed, as multiples of their simulations."""
        if plan.choice is None:
            return None
        return known_ranges().get((self.context.device, plan.choice.job.sharding))


def range_text(forecast: Forecast, plan: Plan) -> str:
    """Tokens per second, if this training is to its simulation as published ones of its kind. Empty
    where too few were published."""
    found = forecast.range_of(plan)
    if found is None or plan.choice is None:
        return ""
    rate = plan.choice.step.tokens_per_second
    return f"{si(found.least * rate)} to {si(found.most * rate)}"


def memory_text(plan: Plan) -> str:
    """What a GPU needs; empty where nothing was tried."""
    return f"{plan.needed_bytes / _GIB:.0f} GiB" if plan.needed_bytes else ""


def plan_text(plan: Plan) -> str:
    """How the work is split, or why it cannot be."""
    return plan.why if plan.choice is None else split_text(plan.choice.job)


def split_text(job: Job, chosen: Collection[str] = ()) -> str:
    """How the work of a job is split, with a star behind what was chosen among several."""
    star = {name: "*" if name in chosen else "" for name in ("interleave", "microbatch")}
    words = [f"dp {job.data} x tp {job.tensor} x pp {job.pipeline}"]
    if job.interleave > 1 or star["interleave"]:
        words.append(f"{job.interleave}{star['interleave']} parts per stage")
    words.append(f"microbatch {job.microbatch}{star['microbatch']}")
    words += [_SHARDED[job.sharding], _RECOMPUTED[job.recompute]]
    return ", ".join(word for word in words if word)
