"""Measures one night: the tracked set in fresh processes, in random order.

Everything that was measured is in the night's folder as soon as a process ends. A night that was
killed is taken up again by the next run; what is there already is not measured twice.
"""

import json
import os
import random
import re
import signal
import socket
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from gpubench_reports.common.dates import moment_of
from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import reason
from gpubench_reports.nightly.judging.decisions import present_decisions
from gpubench_reports.nightly.judging.judge import suspicious
from gpubench_reports.nightly.nights import health
from gpubench_reports.nightly.nights.gpu_lock import alone_on
from gpubench_reports.nightly.nights.rehearsal import varied_device
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.names import folder_name
from gpubench_reports.nightly.store.process_file import read_process, refuse_other_kind
from gpubench_reports.nightly.store.store import Night, Store, checksum, now

_HOPELESS = 3  # processes in a row that give no result: the night is given up
_LONG_FILTER = 8000  # characters; beyond that a concept is run whole


class CannotJudgeError(ReportError):
    """The night could not be measured; exit code 2."""


def call_group(
    arguments: Sequence[str], timeout_seconds: float | None = None, **options: Any
) -> tuple[int, str, str]:
    """Exit code, standard output and error. Whatever ends the wait, such as an interrupt, ends the
    program and all that it has started. Raises OSError and subprocess.TimeoutExpired."""
    process = subprocess.Popen(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        stdin=subprocess.DEVNULL,
        errors="replace",
        start_new_session=True,
        **options,
    )
    try:
        out, err = process.communicate(timeout=timeout_seconds)
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    return process.returncode, out, err


@dataclass(frozen=True)
class Program:
    """A gpubench and how it is called."""

    path: Path
    device: str
    suite: str = "default"
    mode: str = "cold"
    extra: tuple[str, ...] = ()
    timeout_seconds: float = 1800.0

    def command(self, pattern: str, *more: str) -> list[str]:
        return [
            str(self.path),
            f"--device={self.device}",
            f"--suite={self.suite}",
            f"--mode={self.mode}",
            "--predict=off",  # what is judged are times, against their own history
            f"--benchmark_filter={pattern}",
            *self.extra,
            *more,
        ]

    def call(self, arguments: Sequence[str]) -> tuple[int, str, str]:
        """Exit code, standard output and error. ReportError if it does not start or end."""
        try:
            # It holds the machine's lock too, should this process be killed.
            return call_group(arguments, self.timeout_seconds, close_fds=False)
        except OSError as error:
            raise CannotJudgeError(self.path, f"does not start: {reason(error)}") from None
        except subprocess.TimeoutExpired:
            limit = f"did not end within {self.timeout_seconds:.0f} s"
            raise CannotJudgeError(self.path, limit) from None

    def names(self, pattern: str) -> list[str]:
        """The rows that the pattern selects. CannotJudgeError if there are none."""
        code, out, err = self.call(self.command(pattern, "--benchmark_list_tests"))
        if code != 0:
            raise CannotJudgeError(self.path, f"lists no rows: {last_line(err, code)}")
        names = [line.strip() for line in out.splitlines() if "/" in line]
        if not names:
            raise CannotJudgeError(self.path, f"lists no rows for '{pattern}'")
        return names

    def run(self, pattern: str, out: Path, *more: str) -> str:
        """Runs the rows into the file `out`; returns why there is none, or an empty text."""
        try:
            code, _, err = self.call(self.command(pattern, f"--benchmark_out={out}", *more))
        except CannotJudgeError as error:
            return error.problem
        return "" if out.exists() else last_line(err, code)

    def checked(self, rehearsal: bool) -> None:
        """Raises CannotJudgeError unless the device is of the right kind, and there."""
        modelled = self.device.startswith("model")
        if modelled and not rehearsal:
            raise CannotJudgeError(
                self.device, "modelled nights are no nights: --rehearsal is for trying this out"
            )
        if rehearsal and not modelled:
            raise CannotJudgeError(self.device, "a rehearsal is modelled: --device=model:NAME")
        if modelled:
            return
        code, out, err = self.call([str(self.path), "--list_devices"])
        if code != 0:
            raise CannotJudgeError(self.path, f"does not run: {last_line(err, code)}")
        number = health.gpu_of(self.device)
        if not re.search(rf"^\s+cuda:{number}\b", out, re.MULTILINE):
            raise CannotJudgeError(self.device, "there is no such GPU here that it can use")


class Unchanged:
    """Holds a program to what it was at first: built anew meanwhile, it would be two programs."""

    def __init__(self, program: Program, rehearsal: bool) -> None:
        self._path = program.path
        # The launcher, and what it starts.
        beside = program.path.resolve().parent / f"gpubench-{'model' if rehearsal else 'cuda'}"
        self._files = (program.path, beside)
        self._stamps, self.sums = self._look(), self._checksums()

    def require(self) -> None:
        """Raises CannotJudgeError if the program is another one by now."""
        stamps = self._look()
        if stamps != self._stamps and self._checksums() != self.sums:
            raise CannotJudgeError(self._path, "was changed while it was being measured")
        self._stamps = stamps

    def _look(self) -> list[tuple[int, int, int]]:
        """Changes whenever a file may have: reading them all takes too long to do it each time."""
        found = []
        for path in self._files:
            with suppress(FileNotFoundError):
                file = path.stat()
                found.append((file.st_ino, file.st_size, file.st_mtime_ns))
        return found

    def _checksums(self) -> list[str]:
        found = []
        for path in filter(Path.is_file, self._files):
            with suppress(FileNotFoundError):  # the linker is making it
                found.append(checksum(path))
        return found


def last_line(text: str, code: int) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else f"it ended with exit code {code} and no word"


def exactly(names: Sequence[str]) -> str:
    """A pattern for these rows alone; for their concepts if it would be too long."""
    escaped = [re.sub(r"([.\[\]{}()*+?^$|\\])", r"\\\1", name) for name in names]
    pattern = f"^({'|'.join(escaped)})$"
    return pattern if len(pattern) < _LONG_FILTER else by_concept(names)


def by_concept(names: Sequence[str]) -> str:
    return f"^({'|'.join(sorted({name.partition('/')[0] for name in names}))})/"


@dataclass
class NightRun:
    """One night on one machine, being measured under the machine's lock."""

    store: Store
    program: Program
    settings: Settings
    machine: str
    say: Callable[[str], None]
    noise: float = 0.0  # of a rehearsal's devices
    failures: dict[str, str] = field(default_factory=dict)
    _unchanged: Unchanged = field(init=False)

    def run(self, index: Index) -> Night:
        """Measures, or takes up, one night and closes it. Raises CannotJudgeError."""
        self.program.checked(self.store.rehearsal)
        with self.store.measuring(self.machine):
            seen = health.look(self.program.device)
            with alone_on(self.program.device, seen):
                return self._run_alone(index, seen)

    def _run_alone(self, index: Index, seen: dict[str, Any]) -> Night:
        why = health.unfit(seen, self.settings)
        if why:
            raise CannotJudgeError(self.machine, f"is not fit to be measured: {why}")
        if not seen and not self.store.rehearsal:
            self.say("no nvidia-smi answers: what the machine does besides is not known")
        self._unchanged = Unchanged(self.program, self.store.rehearsal)
        names = self.program.names(self.settings.filter)
        night = self._unfinished() or self._new(names, seen)
        plan = night.document("plan.json") or {}
        self._measure(night, plan["units"], "first")
        # Reruns of a night that was killed among them have no say in what is rerun.
        first = [path for path in night.results() if path.name.startswith("first-")]
        files = [read_process(path) for path in first]
        index.update(self.settings)
        decisions = present_decisions(self.store, index)
        again = suspicious(index, self.machine, night.number, files, self.settings, decisions)
        if again:
            self.say(f"{len(again)} of {len(names)} rows look suspicious: measured again")
            self._measure(night, self._rerun_units([key[2] for key in again]), "rerun")
        after = health.look(self.program.device)
        night.close(
            {
                "ended": now(),
                "failures": self.failures,
                "health": after,
                "unhealthy": health.harmed(after),
            }
        )
        return night

    def _new(self, names: list[str], seen: dict[str, Any]) -> Night:
        units = self._units(names)
        seed = random.SystemRandom().randrange(2**32)
        random.Random(seed).shuffle(units)
        plan = {
            "began": now(),
            "host": socket.gethostname(),
            "program": self._identity(),
            "health": seen,
            "seed": seed,
            "units": units,
        }
        night = self.store.begin(self.machine, plan, {})
        self.say(
            f"night {night.number} of {self.machine}: {len(names)} rows in "
            f"{len(units)} fresh processes, in random order"
        )
        return night

    def _units(self, names: list[str]) -> list[dict[str, Any]]:
        """A unit is one process: the rows of one concept, once."""
        concepts: dict[str, list[str]] = defaultdict(list)
        for name in names:
            concepts[name.partition("/")[0]].append(name)
        return [
            {
                "process": number,
                "concept": concept,
                "filter": exactly(rows) if self.settings.filter else by_concept(rows),
            }
            for number in range(1, self.settings.processes + 1)
            for concept, rows in concepts.items()
        ]

    def _rerun_units(self, names: list[str]) -> list[dict[str, Any]]:
        concepts: dict[str, list[str]] = defaultdict(list)
        for name in names:
            concepts[name.partition("/")[0]].append(name)
        units = [
            {"process": number, "concept": concept, "filter": exactly(rows)}
            for number in range(1, self.settings.processes + 1)
            for concept, rows in concepts.items()
        ]
        random.shuffle(units)
        return units

    def _identity(self) -> dict[str, str]:
        """What a night has to share with a killed one to go on with it."""
        return {
            "path": str(self.program.path),
            "sha256": " ".join(self._unchanged.sums),
            "command": json.dumps(self.program.command(self.settings.filter)[1:]),
        }

    def _unfinished(self) -> Night | None:
        """The killed night that can be taken up; older ones are closed with what they have."""
        found = None
        for night in self.store.nights(self.machine):
            if night.has("done.json"):
                continue
            plan: dict[str, Any] = {}
            with suppress(ReportError):  # corrupt: the index puts it aside
                plan = night.document("plan.json") or {}
            if self._is_ours(plan):
                self.say(f"night {night.number} was killed: going on with it")
                found = night
            else:
                night.close({"ended": now(), "abandoned": True})
        return found

    def _is_ours(self, plan: dict[str, Any]) -> bool:
        try:
            began = moment_of(plan["began"])
            return (
                began is not None
                and abs(datetime.now(UTC) - began) < timedelta(hours=self.settings.resume_hours)
                and plan["program"] == self._identity()
                and bool(plan["units"])
            )
        except (KeyError, TypeError, ValueError):
            return False

    def _measure(self, night: Night, units: list[dict[str, Any]], stage: str) -> None:
        failed = 0
        for unit in units:
            name = f"{stage}-{unit['process']}-{folder_name(unit['concept'])}"
            if (night.path / f"{name}.json").exists():
                continue
            why = self._process(night, unit, name)
            failed = failed + 1 if why else 0
            if why:
                self.say(f"process {name}: {why}")
                self.failures[name] = why
            if failed >= _HOPELESS:
                # Not closed: a later run takes the night up if what was wrong is right again.
                raise CannotJudgeError(self.machine, f"{failed} processes in a row failed: {why}")

    def _process(self, night: Night, unit: dict[str, Any], name: str) -> str:
        """One fresh process. Returns why it gave no result, or an empty text."""
        with tempfile.TemporaryDirectory(dir=night.path, prefix=".part-") as folder:
            out = Path(folder) / f"{name}.json"
            program = self.program
            if self.noise > 0:
                label = f"{self.machine} {night.number}"
                device = varied_device(program.device, self.noise, label, name, Path(folder))
                program = Program(
                    program.path,
                    device,
                    program.suite,
                    program.mode,
                    program.extra,
                    program.timeout_seconds,
                )
            # Equal files are two processes all the same: a modelled one can come out twice.
            mark = f"nightly={self.machine} {night.number} {name}".replace(",", "-")
            why = program.run(unit["filter"], out, f"--benchmark_context={mark}")
            self._unchanged.require()
            if why:
                return why
            try:
                file = read_process(out)
            except ReportError as error:
                return f"its result file {error.problem}"
            refuse_other_kind(file.context, self.program.path, self.store.rehearsal)
            if file.context.interrupted:
                return "it was interrupted"
            for suffix in (".samples.jsonl", ".json"):  # the result last: it is what counts
                made = out.with_name(name + suffix)
                if made.exists():
                    _keep(made, night.path / made.name)
        return ""


def _keep(made: Path, place: Path) -> None:
    """Moves a finished file to its place, on the disk; ReportError when that fails."""
    try:
        with made.open("rb") as stream:
            os.fsync(stream.fileno())
        with suppress(FileExistsError):
            os.link(made, place)
    except OSError as error:
        raise ReportError(place, f"cannot write: {reason(error)}") from None
