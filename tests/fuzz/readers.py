"""Every reader of a file that somebody else may have written: seeds, and what a command does with
what was read.

A reader takes the path of one damaged file. ReportError is the right answer to a file that is
wrong; anything else that is raised is a crash.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from . import seeds

if TYPE_CHECKING:
    from gpubench_reports.jobs.machine import Machine
    from gpubench_reports.results.reader import ResultFile


@dataclass(frozen=True)
class Reader:
    """`seeds`: files that are right. `name`: of the damaged file, where it has to have one."""

    seeds: Callable[[], list[bytes]]
    read: Callable[[Path], object]
    file: str = "input.json"


# --- what is done with them -----------------------------------------------------------------------

_folder = Path("/nonexistent")


def use_folder(folder: Path) -> None:
    """Where files that lie beside a damaged one go."""
    global _folder
    _folder = folder


def _kept(name: str, content: Callable[[], bytes]) -> Path:
    path = _folder / name
    if not path.exists():
        path.write_bytes(content())
    return path


# A job that can be split in few ways: what is tried is the file, not the search.
GPUS, BATCH = (1, 16), 1 << 12


@cache
def _machine_in(folder: Path) -> Machine:
    from gpubench_reports.jobs.machine import machine_of

    return machine_of(_result_in(folder, "job.json", seeds.job))


def _machine() -> Machine:
    return _machine_in(_folder)


@cache
def _result_in(folder: Path, name: str, content: Callable[[], bytes]) -> ResultFile:
    from gpubench_reports.results.reader import read

    return read(_kept(name, content))


def _result(name: str, content: Callable[[], bytes]) -> ResultFile:
    """A result file beside the damaged one, which is read once."""
    return _result_in(_folder, name, content)


def read_result(path: Path) -> None:
    from gpubench_reports.results.reader import read

    read(path)


def read_and_report(path: Path) -> None:
    """What table, csv, markdown and compare do, all but the printing."""
    from gpubench_reports.comparisons.compare import as_json, compare
    from gpubench_reports.pages.csv_report import to_csv
    from gpubench_reports.pages.markdown_report import to_markdown
    from gpubench_reports.results.reader import read
    from gpubench_reports.rules.verdicts.judge import judge

    result = read(path)
    verdicts = judge(result)
    to_csv(result, verdicts)
    to_markdown(result, verdicts)
    as_json(compare(_result("other.json", seeds.measured), result))


def read_and_rule(path: Path) -> None:
    """What claims, validate, agree and calibrate do."""
    from gpubench_reports.common.errors import ReportError
    from gpubench_reports.comparisons import agree
    from gpubench_reports.comparisons.validate import validate
    from gpubench_reports.results.device_files import read_device
    from gpubench_reports.results.reader import read
    from gpubench_reports.rules import calibration
    from gpubench_reports.rules.claims import as_json, judge_claims

    result = read(path)
    json.dumps(as_json(result, judge_claims(result)), allow_nan=False)
    other = _result("other.json", seeds.measured)
    base = read_device("h200-sxm")
    by = calibration.rules()
    for call in (
        lambda: validate([result, other]),
        lambda: agree.as_json(agree.agree([result, other])),
        lambda: calibration.device_text(
            calibration.calibrate(result, base, result.context.modelled, by), "x"
        ),
    ):
        try:
            call()
        except ReportError as error:
            check_line(error)


def read_steps(path: Path) -> None:
    """What diagnose and the verdicts say of training steps."""
    from gpubench_reports.pages.terminal.steps import known_gains, lines_of
    from gpubench_reports.results.reader import read
    from gpubench_reports.rules.steps import diagnose_steps
    from gpubench_reports.rules.verdicts.judge import judge

    result = read(path)
    for step in diagnose_steps(result):
        lines_of(step)
    known_gains([result])
    judge(result)


def read_device_file(path: Path) -> None:
    from gpubench_reports.common.errors import ReportError
    from gpubench_reports.results.device_files import read_device
    from gpubench_reports.results.device_roofs import read_device_roofs
    from gpubench_reports.rules import calibration

    try:
        read_device_roofs(path)
    except ReportError as error:
        check_line(error)
    base = read_device(str(path))
    result = _result("modelled.json", seeds.calibrating)
    found = calibration.calibrate(result, base, True, calibration.rules())
    json.loads(calibration.device_text(found, "x"))


def read_trace(path: Path) -> None:
    from gpubench_reports.results import traces

    for trace in traces.read_trace(path).shown:
        assert trace.end >= 0


def read_explanations(path: Path) -> None:
    from gpubench_reports.results import explanations

    explanations.read(path)


def read_series(path: Path) -> None:
    from gpubench_reports.results.watched import series_beside

    result = _result("run.json", seeds.measured)
    assert path == result.path.with_suffix(".series.jsonl")
    series_beside(result)


def read_journal(path: Path) -> None:
    """A journal is no result file: the error says how to finish the run."""
    from gpubench_reports.common.errors import ReportError
    from gpubench_reports.results.reader import read

    try:
        read(path)
    except ReportError as error:
        check_line(error)


def importer(program: str) -> Callable[[Path], None]:
    def read_import(path: Path) -> None:
        """A file that is converted is a result file."""
        from gpubench_reports.results.importers import convert
        from gpubench_reports.results.reader import read

        # Not indented, as the program writes it: that takes Python as long as all the rest.
        document = json.dumps(convert(path, program), allow_nan=False)
        converted = path.with_name("converted.json")
        converted.write_text(document)
        read(converted)

    return read_import


def read_points(path: Path) -> None:
    from gpubench_reports.comparisons.points import points_of
    from gpubench_reports.comparisons.ranges import ranges_for

    ranges_for(_result("run.json", seeds.measured), [path])
    points_of(path)


def read_profile(path: Path) -> None:
    from gpubench_reports.common.json_text import json_text
    from gpubench_reports.comparisons import counters, ncu_profile

    profiled = ncu_profile.read_profile(path)
    result = _result("counted.json", seeds.counted)
    json_text({"times": counters.timings(result, profiled)})
    json_text({"counts": counters.compare(result, profiled)})


def read_counted(path: Path) -> None:
    """Launches of a result file, beside a profile."""
    from gpubench_reports.common.json_text import json_text
    from gpubench_reports.comparisons import counters, ncu_profile
    from gpubench_reports.results.reader import read

    profiled = ncu_profile.read_profile(_kept("profile.csv", seeds.profile))
    result = read(path)
    json_text({"counts": counters.compare(result, profiled)})
    json_text({"times": counters.timings(result, profiled)})


def read_seconds(path: Path) -> None:
    from gpubench_reports.comparisons.peers.answers import compare

    for key in ("nvbandwidth-1", "nvbandwidth-2", "gpubench-bandwidth-1"):
        _kept(f"{key}.json", seeds.measured)
    compare(path.parent)


def read_pictures(path: Path) -> None:
    from gpubench_reports.charts.gallery import read_list

    read_list(path.parent)


def read_and_plan(path: Path) -> None:
    """What job does, all but the printing."""
    from gpubench_reports.jobs.forecast import Forecast
    from gpubench_reports.jobs.machine import machine_of
    from gpubench_reports.jobs.model_files import shipped_models
    from gpubench_reports.jobs.search import plans
    from gpubench_reports.pages.job_report import plans_json, plans_markdown
    from gpubench_reports.results.reader import read

    result = read(path)
    found = plans(machine_of(result), shipped_models()[:1], GPUS, BATCH)
    forecast = Forecast(result.context, found, BATCH)
    json.loads(plans_json([forecast]))
    plans_markdown([forecast])


def read_models(path: Path) -> None:
    from gpubench_reports.jobs.model_files import models_of
    from gpubench_reports.jobs.search import plans

    plans(_machine(), models_of(path), GPUS, BATCH)


def read_trainings(path: Path) -> None:
    from gpubench_reports.jobs.comparison import compare_trainings
    from gpubench_reports.jobs.trainings import trainings_of
    from gpubench_reports.pages.training_report import errors_markdown, trainings_markdown

    known = {"h100-sxm": _machine(), "a100-80-sxm": _machine()}
    compared = compare_trainings(trainings_of(path), known)
    errors_markdown(compared)
    trainings_markdown(compared)


def check_line(error: Exception) -> None:
    """That an error is one line, which a terminal prints as it is."""
    from gpubench_reports.common.plain_text import clean

    text = str(error)
    assert text, "an error without words"
    assert len(text.splitlines()) == 1, f"an error of several lines: {text!r}"
    assert clean(text) == text, f"an error that a terminal obeys: {text!r}"
    assert len(text) < 8100, f"an error of {len(text)} characters"


def _numbered(names: tuple[str, ...]) -> Iterator[tuple[str, Reader]]:
    for name in names:
        suffix = Path(name).suffix
        program = {"gpu-stream": "gpu-benches"}.get(Path(name).stem, Path(name).stem)
        yield f"import {program}", Reader(seeds.imports(name), importer(program), f"input{suffix}")


READERS: dict[str, Reader] = {
    "result": Reader(seeds.documents, read_result),
    "reports": Reader(seeds.documents, read_and_report),
    "rules": Reader(seeds.documents, read_and_rule),
    "steps": Reader(seeds.steps, read_steps),
    "device": Reader(seeds.devices, read_device_file),
    "trace": Reader(seeds.traces, read_trace),
    "explanations": Reader(seeds.explanations, read_explanations),
    "series": Reader(seeds.series, read_series, "run.series.jsonl"),
    "journal": Reader(seeds.journal, read_journal, "run.json.journal"),
    "points": Reader(seeds.points, read_points),
    "profile": Reader(seeds.profiles, read_profile, "profile-1.csv"),
    "counted": Reader(lambda: [seeds.counted()], read_counted),
    "seconds": Reader(seeds.seconds, read_seconds, "seconds.json"),
    "job": Reader(lambda: [seeds.job()], read_and_plan),
    "models": Reader(seeds.models, read_models, "models.toml"),
    "trainings": Reader(seeds.trainings, read_trainings),
    "pictures": Reader(seeds.pictures, read_pictures, "pictures.toml"),
    **dict(
        _numbered(
            (
                "babelstream.csv",
                "gpu-stream.txt",
                "mixbench.txt",
                "nccl-tests.txt",
                "nvbandwidth.json",
                "nvbench.json",
            )
        )
    ),
}

# A thread pool would be memory that no input asked for.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
