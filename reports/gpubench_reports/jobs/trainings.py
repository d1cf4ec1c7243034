"""Trainings that others published, from points files.

A points file (tests/data/trainings/*.json) holds what one publication reports:

    schema 1; name: of all its trainings, for a table; source; url
    unlike    how the trainings differ from what is simulated, and what is not stated
    left_out  what else the source's tables have, and why it is not among the points
    common    what all its points have in common
    points    each with `what`, `device` (a device file's name), `model`, the fields of a Job,
              `quantity` and `value`, and `fitted`: whether the constant of machine.py was fitted
              on it. Without `microbatch` or `interleave`, all usual ones are simulated.
              `network_bytes_per_second` is what each GPU gets of a network unlike the device's.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import require_folder
from gpubench_reports.jobs.job import Attention, Job, Recompute, Sharding
from gpubench_reports.jobs.model_files import count_of, flag_of, model_of
from gpubench_reports.results.checking import Checker, parse

_WORDS = {"recompute": Recompute, "attention": Attention, "sharding": Sharding}
_FLAGS = ("sequence_parallel", "short_ends")
_OVERLAPS = ("data", "tensor", "weights", "pipeline")
_COUNTS = ("gpus", "sequence", "batch", "microbatch", "tensor", "pipeline", "interleave")
_OPTIONAL = ("microbatch", "tensor", "pipeline", "interleave")
_OTHERS = {"what", "device", "model", "quantity", "value", "fitted", "overlap"}


@dataclass(frozen=True)
class Publication:
    """Where trainings are from: the texts of a points file."""

    name: str
    url: str
    source: str
    unlike: str
    left_out: str


@dataclass(frozen=True)
class Training:
    """One published figure. `job` has 1 where `free` names what was not stated."""

    publication: Publication
    what: str
    device: str
    job: Job
    free: tuple[str, ...]
    network: float | None
    quantity: str
    value: float
    fitted: bool

    @property
    def step_seconds(self) -> float:
        """What the figure says of the time of a step, by the figure's own definition."""
        return _STEP_SECONDS[self.quantity](self.job, self.value)


def _seconds_by_executed(job: Job, rate: float) -> float:
    """A step's seconds, from the FLOP/s that a GPU executes. With full recomputation it executes a
    fourth pass through all but the output layer."""
    output = 6.0 * job.model.hidden * job.model.vocabulary
    model = job.model.flops_per_token(job.sequence)
    return job.tokens * ((model - output) * 4 / 3 + output) / (rate * job.gpus)


_STEP_SECONDS: dict[str, Callable[[Job, float], float]] = {
    "step_seconds": lambda job, value: value,
    "tokens_per_second_per_gpu": lambda job, value: job.tokens / (value * job.gpus),
    "model_flops_per_second_per_gpu": lambda job, value: (
        job.tokens * job.model.flops_per_token(job.sequence) / (value * job.gpus)
    ),
    "executed_flops_per_second_per_gpu": _seconds_by_executed,
}


def read_trainings(directory: Path) -> list[Training]:
    """All points of the *.json files in `directory`, by file name. Raises ReportError."""
    require_folder(directory, "points files (*.json)")
    paths = sorted(directory.glob("*.json"))
    if not paths:
        raise ReportError(directory, "holds no trainings: expected *.json files")
    return [point for path in paths for point in trainings_of(path)]


def trainings_of(path: Path) -> list[Training]:
    """The points of one file. Raises ReportError."""
    document = parse(path)
    if not isinstance(document, dict) or document.get("schema") != 1:
        raise ReportError(path, "must be an object with 'schema' 1")
    check = Checker(path)
    texts = [field.name for field in dataclasses.fields(Publication)]
    publication = Publication(*(check.text(document, key, "") for key in texts))
    common, points = document.get("common", {}), document.get("points")
    if not isinstance(common, dict):
        raise ReportError(path, "'common' must be an object")
    if not isinstance(points, list) or not points or not all(isinstance(p, dict) for p in points):
        raise ReportError(path, "'points' must be a list of objects")
    return [_point(check, publication, {**common, **point}) for point in points]


def _point(check: Checker, publication: Publication, entry: dict[str, Any]) -> Training:
    what = check.text(entry, "what", "a point")
    where = f"point '{what}'"
    known = {*_OTHERS, *_FLAGS, *_WORDS, *_COUNTS, "gradient_bytes", "network_bytes_per_second"}
    if unknown := sorted(set(entry) - known):
        raise check.fail(where, f"unknown key {unknown[0]!r}")
    quantity = check.text(entry, "quantity", where)
    if quantity not in _STEP_SECONDS:
        raise check.fail(where, f"'quantity' must be one of {', '.join(_STEP_SECONDS)}")
    overlap = entry.get("overlap", [])
    if not isinstance(overlap, list) or not all(kind in _OVERLAPS for kind in overlap):
        raise check.fail(where, f"'overlap' must be a list out of {', '.join(_OVERLAPS)}")
    fields: dict[str, Any] = {"overlap": frozenset(overlap)}
    for key, kind in _WORDS.items():
        if key in entry:
            fields[key] = check.text(entry, key, where)
            if fields[key] not in get_args(kind):
                raise check.fail(where, f"'{key}' must be one of {', '.join(get_args(kind))}")
    for key in (*_COUNTS, "gradient_bytes"):
        if key in entry or key not in (*_OPTIONAL, "gradient_bytes"):
            fields[key] = count_of(check, entry, key, where)
    fields |= {key: flag_of(check, entry, key, where) for key in _FLAGS}
    job = Job(model_of(check, entry.get("model"), what, where), **fields)
    network = "network_bytes_per_second"
    free = ["microbatch"] if "microbatch" not in entry else []
    if "interleave" not in entry and job.pipeline > 1:
        free.append("interleave")
    return Training(
        publication=publication,
        what=what,
        device=check.text(entry, "device", where),
        job=job,
        free=tuple(free),
        network=check.positive(entry, network, where) if network in entry else None,
        quantity=quantity,
        value=check.positive(entry, "value", where),
        fitted=flag_of(check, entry, "fitted", where),
    )
