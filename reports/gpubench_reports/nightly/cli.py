"""The command line of nightly tracking.

Exit codes: 0 nothing; 1 a regression; 2 could not judge, or something is wrong with a file or the
command line (one line says what); 130 interrupted.
"""

import argparse
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from gpubench_reports.common.errors import ReportError

PROGRAM = "nightly"

_DESCRIPTION = """\
Tracks a GPU's figures night by night, and tells a regression from noise.

  run              measure a night, store it, judge it, write the report
  add              store result files that were measured elsewhere as one night, and judge it
  status           what is open now, from the store alone
  accept           take the present level of a series as its new baseline, with a reason
  acknowledge      keep quiet about a known regression until a date
  report           write the trend page
  index            bring the index up to date, or rebuild it from the files
  export           Parquet for a fleet, OpenMetrics or JUnit XML for others' tools
  query            one of the prepared questions, to the index or to exported Parquet
  compare          the pull-request gate: two programs, interleaved
  bisect           which commit made it slower, with the gate as oracle
  calibrate-judge  false alerts a night and what is found how soon, with this site's noise
  benchmark        how long indexing and judging take as a store grows
"""

_EPILOG = """\
Exit code 0: nothing. 1: a regression, also one that bisect has found. 2: could not judge; a line
says why. 130: interrupted.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit code."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the arrays are small
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="replace", line_buffering=True)
    # A night that is told to stop ends its processes; what it has stays for the next run.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = _parser().parse_args(arguments)
    try:
        code = options.call(options)
        sys.stdout.flush()
        return code
    except ReportError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a full or broken disk, wherever it shows first
        from gpubench_reports.common.files import reason

        print(f"{PROGRAM}: {error.filename or 'a file'}: {reason(error)}", file=sys.stderr)
        return 2


def default_store() -> Path:
    return Path(os.environ.get("GPUBENCH_STORE", "results/local/nightly"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # scripts/nightly looks for --program
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, call: Any, summary: str, store: bool = True) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        sub.set_defaults(call=call)
        if store:
            _add_store(sub)
            sub.add_argument(
                "--rehearsal",
                action="store_true",
                help="modelled nights, in a store of their own, marked everywhere",
            )
        return sub

    run = command("run", _run, "measure a night, store it, judge it, write the report")
    _add_program(run, Path("./gpubench"))
    run.add_argument("--processes", type=int, metavar="N", help="fresh processes a night")
    run.add_argument("--machine", metavar="NAME", help="default: host and device")
    run.add_argument(
        "--rehearsal-noise",
        type=float,
        default=0.0,
        metavar="FRACTION",
        help="vary the modelled device from process to process",
    )
    run.add_argument(
        "--junit", type=Path, metavar="FILE", help="also write the verdict as JUnit XML"
    )
    run.add_argument(
        "--openmetrics", type=Path, metavar="FILE", help="also write the latest values"
    )

    add = command("add", _add, "store result files as one night, and judge it")
    add.add_argument("results", nargs="+", type=Path, metavar="FILE.json")
    add.add_argument("--machine", metavar="NAME", help="default: the files' host and device")

    command("status", _status, "what is open now")

    accept = command("accept", _accept, "take the present level as the new baseline")
    accept.add_argument("pattern", help="of names, as the shell has them: 'stream/*'")
    accept.add_argument("--reason", required=True)

    acknowledge = command("acknowledge", _acknowledge, "keep quiet about a known regression")
    acknowledge.add_argument("pattern", help="of names, as the shell has them: 'stream/*'")
    acknowledge.add_argument("--until", required=True, type=_day, metavar="YYYY-MM-DD")
    acknowledge.add_argument("--reason", required=True)

    report = command("report", _report, "write the trend page")
    report.add_argument("--out", type=Path, metavar="FILE.html", help="default: STORE/report.html")

    index = command("index", _index, "bring the index up to date")
    index.add_argument("--rebuild", action="store_true", help="from all files, anew")

    export = command("export", _export, "for others' tools")
    export.add_argument("format", choices=("parquet", "openmetrics", "junit"))
    export.add_argument("out", type=Path, help="a folder for parquet, else a file")

    query = command("query", _query, "a prepared question")
    query.add_argument("name", help="'list' names them")
    query.add_argument(
        "--parquet",
        metavar="WHERE",
        help="a folder or s3:// address of exported Parquet, by DuckDB",
    )
    query.add_argument(
        "--benchmark", default="%", metavar="PATTERN", help="SQL's LIKE: 'stream/%%'"
    )

    compare = command("compare", _compare, "two programs, interleaved", store=False)
    compare.add_argument("a", type=Path, metavar="A", help="the program to compare with")
    compare.add_argument("b", type=Path, metavar="B", help="the program under test")
    _add_gate(compare)
    compare.add_argument("--out", type=Path, metavar="FILE.md", help="also write the table there")

    bisect = command("bisect", _bisect, "which commit made it slower", store=False)
    bisect.add_argument("--good", required=True, metavar="COMMIT", help="one that was fast")
    bisect.add_argument("--bad", required=True, metavar="COMMIT", help="a later one that is slow")
    bisect.add_argument(
        "--repository", type=Path, default=Path.cwd(), metavar="DIR", help="default: %(default)s"
    )
    bisect.add_argument(
        "--build",
        metavar="COMMAND",
        help="run in each commit's worktree (default: CMake's release preset)",
    )
    bisect.add_argument(
        "--built",
        type=Path,
        default=Path("build/gpubench"),
        metavar="PATH",
        help="the program in a worktree, once built (default: %(default)s)",
    )
    _add_gate(bisect)

    calibrate = command("calibrate-judge", _calibrate, "false alerts, and what is found how soon")
    calibrate.add_argument(
        "--series", type=int, default=200, metavar="N", help="default: %(default)s"
    )
    calibrate.add_argument(
        "--nights", type=int, default=150, metavar="N", help="default: %(default)s"
    )
    for noise, text in (
        ("within", "of a process's median"),
        ("process", "between processes"),
        ("night", "between nights"),
    ):
        calibrate.add_argument(
            f"--{noise}",
            type=float,
            metavar="FRACTION",
            help=f"standard deviation {text}; default: the store's, else assumed",
        )
    calibrate.add_argument("--outliers", type=float, metavar="FRACTION", help="share of nights")
    calibrate.add_argument(
        "--persist",
        type=float,
        metavar="FRACTION",
        help="share of outliers that a rerun meets again (the store's, else 0.5)",
    )
    calibrate.add_argument("--seed", type=int, default=1, metavar="N", help="of the simulation")
    calibrate.add_argument(
        "--workers", type=int, default=min(2, os.cpu_count() or 1), metavar="N", help="processes"
    )
    calibrate.add_argument("--out", type=Path, metavar="DIR", help="plots and the table go there")

    benchmark = command("benchmark", _benchmark, "how long indexing and judging take", store=False)
    for count, default in (("series", 500), ("nights", 365), ("processes", 5)):
        benchmark.add_argument(
            f"--{count}", type=_count, default=default, metavar="N", help="default: %(default)s"
        )
    benchmark.add_argument(
        "--folder", type=Path, metavar="DIR", help="where the store is made (a temporary one)"
    )
    return parser


def _add_program(parser: argparse.ArgumentParser, default: Path | None) -> None:
    if default is not None:
        parser.add_argument("--program", type=Path, default=default, metavar="GPUBENCH")
    parser.add_argument("--device", default="cuda", help="default: %(default)s")
    parser.add_argument("--suite", choices=("quick", "default", "full"))
    parser.add_argument("--mode", choices=("cold", "hot"))
    parser.add_argument("--filter", metavar="REGEX", help="of row names")
    parser.add_argument(
        "--extra",
        action="append",
        default=[],
        metavar="FLAG",
        help="a further flag for gpubench: --extra=--benchmark_min_time=0.1",
    )


def _add_store(parser: argparse.ArgumentParser, purpose: str = "") -> None:
    parser.add_argument(
        "--store",
        metavar="DIR",
        type=Path,
        default=default_store(),
        help=f"{purpose}default: $GPUBENCH_STORE, or %(default)s",
    )


def _add_gate(parser: argparse.ArgumentParser) -> None:
    _add_program(parser, None)
    parser.add_argument("--rounds", type=int, metavar="N", help="processes of each program (10)")
    parser.add_argument(
        "--floor", type=float, metavar="FRACTION", help="smaller changes do not count (0.02)"
    )
    _add_store(parser, "whose settings.toml holds, if any; ")
    parser.add_argument("--seed", type=int, default=1, help="of the bootstrap")
    parser.add_argument("--rehearsal", action="store_true", help="compare modelled runs")


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no day like 2026-12-31") from None


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no number above 0")
    return int(text)


def _opened(options: argparse.Namespace, create: bool = False):
    from gpubench_reports.nightly.index import Index
    from gpubench_reports.nightly.settings import load
    from gpubench_reports.nightly.store import Store

    store = Store.open(options.store, options.rehearsal, create)
    changes = {
        name: getattr(options, name, None)
        for name in ("processes", "suite", "mode", "filter", "machine")
    }
    if changes["processes"] is not None:
        changes["min_processes"] = min(load(store.root).min_processes, changes["processes"])
    settings = load(store.root, **changes)
    return store, Index(store), settings


def _program(options: argparse.Namespace, path: Path, settings):
    from gpubench_reports.nightly.running import Program

    return Program(
        path.resolve() if path.exists() else path,
        options.device,
        settings.suite,
        settings.mode,
        tuple(options.extra),
        settings.timeout_seconds,
    )


def _run(options: argparse.Namespace) -> int:
    from gpubench_reports.nightly.health import gpu_of
    from gpubench_reports.nightly.running import CannotJudgeError, NightRun
    from gpubench_reports.nightly.store import folder_name

    # Before a store is made for nights that are none.
    modelled = options.device.startswith("model")
    if modelled and not options.rehearsal:
        raise CannotJudgeError(
            options.device, "modelled nights are no nights: --rehearsal is for trying this out"
        )
    store, index, settings = _opened(options, create=True)
    # cuda and cuda:0 are one and the same.
    device = options.device if modelled else f"cuda-{gpu_of(options.device)}"
    machine = folder_name(settings.machine or f"{socket.gethostname()}-{device}")
    run = NightRun(
        store,
        _program(options, options.program, settings),
        settings,
        machine,
        _say,
        options.rehearsal_noise,
    )
    aside = set(store.quarantined())
    with index:
        run.run(index)
        return _conclude(options, store, index, settings, machine, aside)


def _add(options: argparse.Namespace) -> int:
    from gpubench_reports.nightly.adding import add

    store, index, settings = _opened(options, create=True)
    aside = set(store.quarantined())
    with index:
        index.update(settings)
        night = add(store, index, options.results, settings.machine)
        return _conclude(options, store, index, settings, night.machine, aside)


def _print_quarantined(files: Iterable[tuple[Path, str]]) -> None:
    for path, why in sorted(files):
        print(f"  quarantined: {path}: {why}")


def _conclude(options, store, index, settings, machine: str, aside: set) -> int:
    """Judges what is new, writes what is derived, and prints the machine's standing.

    Of the files in quarantine those are named that are not in `aside`: that were not there before.
    """
    from gpubench_reports.nightly.judging import judge_new, status
    from gpubench_reports.nightly.page import write_page
    from gpubench_reports.nightly.summary import lines

    judge_new(store, index, settings)
    found = [one for one in status(store, index, settings) if one.machine == machine]
    if not found:
        raise ReportError(machine, "has no night that could be judged")
    print("\n".join(lines(found[0], settings, store.rehearsal)))
    _print_quarantined(set(store.quarantined()) - aside)
    from gpubench_reports.nightly.export import junit, openmetrics

    for name, write in (("junit", junit), ("openmetrics", openmetrics)):
        if getattr(options, name, None) is not None:
            write(store, index, settings, getattr(options, name))
    print(f"  report: {write_page(store, index, settings, store.root / 'report.html')}")
    return found[0].exit_code


def _status(options: argparse.Namespace) -> int:
    from gpubench_reports.nightly.judging import judge_new, status
    from gpubench_reports.nightly.summary import lines

    store, index, settings = _opened(options)
    with index:
        judge_new(store, index, settings)
        found = status(store, index, settings)
        for one in found:
            print("\n".join(lines(one, settings, store.rehearsal)))
        _print_quarantined(store.quarantined())
    if not found:
        raise ReportError(options.store, "has no nights yet")
    codes = {one.exit_code for one in found}
    return 1 if 1 in codes else max(codes)


def _accept(options: argparse.Namespace) -> int:
    return _decide(options, "accept")


def _acknowledge(options: argparse.Namespace) -> int:
    return _decide(options, "acknowledge", options.until)


def _decide(options: argparse.Namespace, action: str, until: str = "") -> int:
    from gpubench_reports.nightly.judging import decide, judge_new
    from gpubench_reports.nightly.page import write_page

    store, index, settings = _opened(options)
    with index:
        judge_new(store, index, settings)
        for name in decide(store, index, settings, action, options.pattern, options.reason, until):
            print(f"{action}: {name}")
        write_page(store, index, settings, store.root / "report.html")
    return 0


def _report(options: argparse.Namespace) -> int:
    from gpubench_reports.nightly.judging import judge_new
    from gpubench_reports.nightly.page import write_page

    store, index, settings = _opened(options)
    with index:
        judge_new(store, index, settings)
        print(write_page(store, index, settings, options.out or store.root / "report.html"))
    return 0


def _index(options: argparse.Namespace) -> int:
    _, index, settings = _opened(options)
    with index:
        done = index.rebuild(settings) if options.rebuild else index.update(settings)
    print(f"{done.seen} nights, {done.read} read anew")
    for line in done.quarantined:
        print(f"quarantined: {line}", file=sys.stderr)
    return 2 if done.quarantined else 0


def _export(options: argparse.Namespace) -> int:
    from gpubench_reports.nightly import export
    from gpubench_reports.nightly.judging import judge_new

    store, index, settings = _opened(options)
    with index:
        judge_new(store, index, settings)
        write = getattr(export, options.format)
        print(write(store, index, settings, options.out))
    return 0


def _query(options: argparse.Namespace) -> int:
    from gpubench_reports.nightly.queries import answer, names, over_index, over_parquet

    if options.name == "list":
        print("\n".join(names()))
        return 0
    if options.parquet is not None:
        table = over_parquet(options.parquet, options.name, options.benchmark)
    else:
        _, index, settings = _opened(options)
        with index:
            index.update(settings)
            table = over_index(index, options.name, options.benchmark)
    print(answer(table))
    return 0


def _gate(options: argparse.Namespace):
    from gpubench_reports.nightly.gate import Gate
    from gpubench_reports.nightly.settings import Settings, load

    changes = {
        "suite": options.suite,
        "mode": options.mode,
        "filter": options.filter,
        "rounds": options.rounds,
        "gate_floor": options.floor,
    }
    settings: Settings = load(options.store, **changes)
    return Gate(
        settings, options.device, tuple(options.extra), options.rehearsal, options.seed, _say
    )


def _compare(options: argparse.Namespace) -> int:
    from gpubench_reports.common.files import write_atomically

    result = _gate(options).compare(options.a, options.b)
    text = result.markdown()
    print(text, end="")
    if options.out is not None:
        write_atomically(options.out, text.encode())
    return result.exit_code


def _bisect(options: argparse.Namespace) -> int:
    from gpubench_reports.nightly.bisecting import bisect

    return bisect(
        _gate(options),
        options.repository,
        options.good,
        options.bad,
        options.build,
        options.built,
        _say,
    )


def _calibrate(options: argparse.Namespace) -> int:
    from gpubench_reports.nightly.calibrating import calibrate

    print(calibrate(options, _say), end="")
    return 0


def _benchmark(options: argparse.Namespace) -> int:
    from gpubench_reports.nightly.speed import benchmark

    print(benchmark(options.series, options.nights, options.processes, options.folder, _say))
    return 0


def _say(text: str) -> None:
    print(f"{PROGRAM}: {text}", file=sys.stderr, flush=True)
