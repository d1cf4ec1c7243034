"""The simulation against published trainings."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import pandas as pd

from gpubench_reports.common.errors import ReportError
from gpubench_reports.jobs.job import Job
from gpubench_reports.jobs.machine import Machine
from gpubench_reports.jobs.memory import fits, needed_bytes, usable_bytes
from gpubench_reports.jobs.search import Choice
from gpubench_reports.jobs.step import simulate
from gpubench_reports.jobs.trainings import Training

_MICROBATCHES = (1, 2, 4, 8, 16)  # what is tried where a publication does not state it
_SHOWN = ("gpus", "data", "tensor", "pipeline", "interleave", "microbatch", "sharding", "recompute")


@dataclass(frozen=True)
class Simulation:
    """A training as it may have been run: the fastest way that its publication leaves open, and
    the tokens per second of the slowest."""

    fastest: Choice
    least: float


def simulate_training(training: Training, machine: Machine) -> Simulation:
    """One that must fit, as it ran, is simulated even where the estimate of its memory says that
    it does not."""
    machine = _with_network(training, machine)
    candidates = [one for one in _candidates(training) if one.possible]
    if not candidates:
        name = training.publication.name
        raise ReportError(name, f"'{training.what}' cannot be split as it says")
    fitting = [one for one in candidates if fits(one, machine)] or candidates
    choices = [Choice(job, simulate(job, machine)) for job in fitting]
    choices.sort(key=lambda choice: choice.step.tokens_per_second)
    return Simulation(choices[-1], choices[0].step.tokens_per_second)


def compare_trainings(trainings: Sequence[Training], machines: dict[str, Machine]) -> pd.DataFrame:
    """A line per training on one of these devices: its publication, what, device, fitted, the job
    and how it was split, `free` for what of this was not stated, `memory` as a multiple of what is
    usable, quantity and value as published, and by the simulation's own definitions

    published, simulated          tokens per second and GPU
    published_mfu, simulated_mfu
    error, error_slowest          of the simulated tokens per second (above 0: too fast), with the
                                  fastest and with the slowest of what was not stated
    """
    lines = []
    for training in trainings:
        machine = machines.get(training.device)
        if machine is None:
            continue
        found = simulate_training(training, machine)
        job, step = found.fastest.job, found.fastest.step
        published = job.tokens / training.step_seconds
        lines.append(
            asdict(training.publication)
            | {"what": training.what, "device": training.device, "fitted": training.fitted}
            | {key: getattr(job, key) for key in _SHOWN}
            | {
                "job": job,
                "free": ", ".join(training.free),
                "memory": needed_bytes(job) / usable_bytes(machine),
                "quantity": training.quantity,
                "value": training.value,
                "published": published / job.gpus,
                "simulated": step.tokens_per_second / job.gpus,
                "published_mfu": step.mfu * published / step.tokens_per_second,
                "simulated_mfu": step.mfu,
                "error": step.tokens_per_second / published - 1,
                "error_slowest": found.least / published - 1,
            }
        )
    if not lines:
        raise ReportError("--published", f"has no training on {' or '.join(sorted(machines))}")
    return pd.DataFrame(lines)


def _candidates(training: Training) -> Iterator[Job]:
    job = training.job
    sizes = _MICROBATCHES if "microbatch" in training.free else (job.microbatch,)
    # Without whole layers it is not possible.
    parts = range(1, job.stage_layers + 1) if "interleave" in training.free else (job.interleave,)
    for size in sizes:
        for part in parts:
            yield replace(job, microbatch=size, interleave=part)


def _with_network(training: Training, machine: Machine) -> Machine:
    return machine.with_network(training.network) if training.network else machine
