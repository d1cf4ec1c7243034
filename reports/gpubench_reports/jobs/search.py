"""The fastest way to split a model over a number of GPUs, of those that fit into their memory."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from gpubench_reports.common.errors import ReportError
from gpubench_reports.jobs.job import Job, Recompute, Sharding
from gpubench_reports.jobs.machine import Machine
from gpubench_reports.jobs.memory import fits, needed_bytes, usable_bytes
from gpubench_reports.jobs.model import Model
from gpubench_reports.jobs.model_files import Models
from gpubench_reports.jobs.step import Step, simulate

# Attention is computed again wherever it is tiled: there is nothing to select.
_RECOMPUTE: tuple[Recompute, ...] = ("none", "full")
_TENSOR = (1, 2, 4, 8)
_PIPELINE = (1, 2, 4, 8, 16)
_INTERLEAVE = (1, 2, 4)
_MICROBATCH = (1, 2, 4, 8, 16)
# Our choice: what a Megatron-LM that was tuned for a large job overlaps. Gradients and parameters
# overlap only if it is told so (--overlap-grad-reduce, --overlap-param-gather).
_OVERLAP = frozenset({"data", "weights"})
# Sends overlap by default, but only in its interleaved schedule.
_OVERLAP_INTERLEAVED = _OVERLAP | {"pipeline"}


@dataclass(frozen=True)
class Choice:
    """One way to split a job, and its step."""

    job: Job
    step: Step


@dataclass(frozen=True)
class Plan:
    """The best way to train a model on so many GPUs. Without one, `why` says what is in the way."""

    model: Model
    gpus: int
    choice: Choice | None = None
    needed_bytes: float = 0.0  # on a GPU, by the choice or else by what needs least
    why: str = ""


def plans(machine: Machine, models: Models, gpus: Sequence[int], batch: int) -> list[Plan]:
    """For each model, for each number of GPUs. `batch` is in tokens: whole sequences of each model,
    or ReportError."""
    whole = math.lcm(*(sequence for _, sequence in models))
    if batch % whole:
        raise ReportError("--batch", f"must be a multiple of {whole} tokens: whole sequences")
    return [
        best_plan(machine, Job(model, count, sequence, batch // sequence))
        for model, sequence in models
        for count in gpus
    ]


def best_plan(machine: Machine, job: Job) -> Plan:
    """The best way to split `job`, which has a model, GPUs and a batch."""
    node = machine.collectives.node
    if job.gpus > 1 and not machine.collectives.inside:
        return Plan(job.model, job.gpus, why="no all_reduce rows")
    if job.gpus > node and not machine.collectives.across:
        return Plan(job.model, job.gpus, why=f"no all_reduce rows of more than {node} GPUs")
    possible = list(_splits(job, node))
    if not possible:
        return Plan(job.model, job.gpus, why="cannot be split evenly")
    fitting = [one for one in possible if fits(one, machine)]
    if not fitting:
        least = min(map(needed_bytes, possible))
        why = f"does not fit into {usable_bytes(machine) / (1 << 30):.0f} GiB"
        return Plan(job.model, job.gpus, needed_bytes=least, why=why)
    choice = fastest(machine, fitting)
    return Plan(job.model, job.gpus, choice, needed_bytes(choice.job))


def fastest(machine: Machine, jobs: Sequence[Job]) -> Choice:
    choices = (Choice(job, simulate(job, machine)) for job in jobs)
    return max(choices, key=lambda choice: choice.step.tokens_per_second)


def _splits(job: Job, node: int) -> Iterator[Job]:
    sides = itertools.product(_TENSOR, _PIPELINE, _INTERLEAVE, _MICROBATCH)
    for tensor, pipeline, interleave, microbatch in sides:
        if tensor > node or (pipeline == 1 and interleave > 1):
            continue
        split = replace(
            job,
            tensor=tensor,
            pipeline=pipeline,
            interleave=interleave,
            microbatch=microbatch,
            sequence_parallel=tensor > 1,
            overlap=_OVERLAP_INTERLEAVED if interleave > 1 else _OVERLAP,
        )
        if not split.possible or job.model.kv_heads % tensor:
            continue
        for recompute, sharding in itertools.product(_RECOMPUTE, get_args(Sharding)):
            # Sharding needs others to share with, and of parameters, one pipeline stage.
            if (sharding == "none") != (split.data == 1) or (sharding == "full" and pipeline > 1):
                continue
            yield replace(split, recompute=recompute, sharding=sharding)
