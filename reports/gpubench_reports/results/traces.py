"""Reads the file of `gpubench --trace`: what happened when in one run of each row.

Chrome's trace event format, of which this needs: a process a row, a thread a track, complete
events ("X") and their names; times in microseconds. `otherData` is the context of the result file,
and `shown` there names the rows that are worth a picture.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpubench_reports.results.checking import Checker, parse
from gpubench_reports.results.context import Context, context_of


@dataclass(frozen=True)
class Operation:
    """One bar: what ran on a track, from when to when [s since the run began]."""

    name: str
    begin: float
    end: float
    stream: str = ""  # whose it is, on an engine's track


@dataclass
class Trace:
    """One run of one row: its tracks in the order of the file, each with its bars by begin."""

    name: str
    tracks: dict[str, list[Operation]] = field(default_factory=dict)

    @property
    def end(self) -> float:
        return max((o.end for bars in self.tracks.values() for o in bars), default=0.0)


@dataclass(frozen=True)
class TraceFile:
    path: Path
    context: Context
    shown: list[Trace]


def path_beside(result: Path) -> Path:
    """Where the trace of a result file lies: NAME.trace.json beside NAME.json."""
    return result.with_suffix(".trace.json")


def read_trace(path: Path) -> TraceFile:
    """Reads the trace file at `path`. Raises ReportError for whatever is wrong with it."""
    check = Checker(path)
    document = parse(path)
    other = document.get("otherData") if isinstance(document, dict) else None
    events = document.get("traceEvents") if isinstance(document, dict) else None
    if not isinstance(other, dict) or not isinstance(events, list):
        raise check.fail("", "not a trace of gpubench: it needs 'otherData' and 'traceEvents'")
    context = context_of(check, other)
    names = other.get("shown", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise check.fail("otherData", "'shown' must be a list of names")
    traces: dict[int, Trace] = {}
    tracks: dict[tuple[int, int], str] = {}
    for index, event in enumerate(events):
        _take(check, f"event {index + 1}", event, traces, tracks)
    by_name = {trace.name: trace for trace in traces.values()}
    return TraceFile(path, context, [by_name[name] for name in names if name in by_name])


def _take(
    check: Checker,
    where: str,
    event: Any,
    traces: dict[int, Trace],
    tracks: dict[tuple[int, int], str],
) -> None:
    if not isinstance(event, dict):
        raise check.fail(where, "must be an object")
    kind = check.text(event, "ph", where)
    process = int(check.number(event.get("pid"), "pid", where))
    if kind == "M":
        what = check.text(event, "name", where)
        arguments = event.get("args")
        if what == "process_name" and isinstance(arguments, dict):
            traces[process] = Trace(check.text(arguments, "name", where))
        elif what == "thread_name" and isinstance(arguments, dict):
            thread = int(check.number(event.get("tid"), "tid", where))
            track = tracks[process, thread] = check.text(arguments, "name", where)
            _trace(check, where, traces, process).tracks.setdefault(track, [])
    elif kind == "X":
        thread = int(check.number(event.get("tid"), "tid", where))
        if (process, thread) not in tracks:
            raise check.fail(where, "its thread has no name yet")
        track = tracks[process, thread]
        begin = check.number(event.get("ts"), "ts", where) * 1e-6
        length = check.number(event.get("dur"), "dur", where) * 1e-6
        if begin < 0 or length < 0:
            raise check.fail(where, "'ts' and 'dur' must not be negative")
        bars = _trace(check, where, traces, process).tracks.setdefault(track, [])
        arguments = event.get("args", {})
        if not isinstance(arguments, dict):
            raise check.fail(where, "'args' must be an object")
        stream = check.text(arguments, "stream", where, "")
        bars.append(Operation(check.text(event, "name", where), begin, begin + length, stream))


def _trace(check: Checker, where: str, traces: dict[int, Trace], process: int) -> Trace:
    if process not in traces:
        raise check.fail(where, "its process has no name yet")
    return traces[process]
