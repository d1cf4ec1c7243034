"""The command line. Modules that cost time to import are imported by the command that needs them.

Exit codes: 0 done; 2 something is wrong with a file, a folder or the command line (one line says
what); 130 interrupted.
"""

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from gpubench_reports import __version__
from gpubench_reports.errors import ReportError

PROGRAM = "gpubench-report"

_DESCRIPTION = """\
Turns gpubench result files into tables and charts.

A result file comes from
  ./gpubench --benchmark_out=run.json --benchmark_out_format=json
"""

_EPILOG = """\
examples:
  gpubench-report table run.json                   what was found, in the terminal
  gpubench-report render run.json                  charts into run-charts/
  gpubench-report compare monday.json today.json   what changed, and is it more than noise?
  gpubench-report validate measured.json           how wrong is the model?
  gpubench-report published tests/data/published   the same, against published measurements

Data are in SI base units; prefixes (k, M, G, T) are powers of 1000.
Exit code 0: done. 2: a file, folder or option is wrong; one line says what.
"""

_RENDER = """\
Draws every chart that the file supports, each as PNG and SVG, and prints their paths.

  roofline         rows with arithmetic intensity and FLOP/s under the device's roofs:
                   solid measured, dash-dot modelled; of the device file, dashed what is
                   known and dotted what is derived or assumed
  concept-NAME     one a concept: a panel a kernel, along the swept axis; points with 95 %
                   intervals, the law as a broad dashed line, the model's prediction dotted
  warp-N           one a kernel of NAME.explain.json, which --explain writes beside NAME.json:
                   which words of which sectors, or banks, each lane of a warp asks for
  timeline-NAME    what happened when in one run of the rows that are worth a picture, where
                   RESULT.trace.json (gpubench --trace) of the same run lies beside the file

Names and axes come from the file: a new concept is drawn without any change here.
Figures of the model device carry the watermark "MODELLED, not measured".
"""

_TABLE = """\
Prints one line a row:

  time        median
  useful      useful bytes per second       arithmetic  FLOP per second
  items       steps, launches, ... a second: what a program of several operations gets done
  law ratio   measured over the concept's law; 1.000 means that theory holds
  of roof     fraction of the roof that binds this row
  predicted   time that the model expects, and its signed error
  bound       what limits the row: dram, l2, shared, issue, fp32, tensor, latency, launch, ...

Then the rows that were skipped or failed, with the reason. Columns nobody filled are left out.
"""

_COMPARE = """\
Compares B with A, row by row: how many times as fast B is, with the 95 % interval that follows
from the intervals of both times. An interval that holds 1 shows no difference.

Files that are unlike (modelled against measured, another device, another mode) are compared,
and every output says so. Rows that only one file has are listed. Draws a chart of the ratios.
"""


_VALIDATE = """\
Compares predicted with measured times: of every measured row with a prediction (--predict), or
with the same row in a modelled file of the same device and mode.

Prints the signed error by concept, the mean of its size (MAPE), the worst rows, and how many meet
the target: 25 % from the data sheet alone, 10 % where the roof that bounds the row was calibrated
on this GPU. Rows of the latter kind are fitted, all others held out. Draws predicted over measured
time, and the errors.
"""

_PUBLISHED = """\
Runs the model for the rows that published measurements can be compared with, and prints the errors
as Markdown. POINTS is a folder of points files: what was measured, where it was published, whether
the device file took a figure from there ("fitted"), and what no row measures yet.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit code."""
    # The arrays are small: a pool of threads would cost more to start than it could save.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a name shows "?"
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
        sys.stdout.flush()
    except ReportError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader, `head` perhaps, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name: str, summary: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(
            name,
            help=summary,
            description=text,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    render = command("render", "draw all charts of a result file", _RENDER)
    render.add_argument("result", metavar="RESULT.json", type=Path)
    render.add_argument("--out", metavar="DIR", type=Path,
                        help="where to (default: RESULT-charts beside the file)")  # fmt: skip
    render.set_defaults(run=_run_render)

    table = command("table", "print a result file as a table", _TABLE)
    table.add_argument("result", metavar="RESULT.json", type=Path)
    table.set_defaults(run=_run_table)

    compare = command("compare", "compare two result files", _COMPARE)
    compare.add_argument("a", metavar="A.json", type=Path, help="the reference")
    compare.add_argument("b", metavar="B.json", type=Path, help="what is compared with it")
    compare.add_argument("--out", metavar="DIR", type=Path,
                         help="where to (default: A-vs-B-charts beside B)")  # fmt: skip
    compare.set_defaults(run=_run_compare)

    validate = command("validate", "compare the model with measurement", _VALIDATE)
    validate.add_argument(
        "results",
        metavar="FILE.json",
        type=Path,
        nargs="+",
        help="measured files, and modelled ones where they lack predictions",
    )
    validate.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        help="where to (default: FILE-validation beside the first file)",
    )
    validate.set_defaults(run=_run_validate)

    published = command("published", "compare the model with published measurements", _PUBLISHED)
    published.add_argument("points", metavar="POINTS", type=Path)
    published.add_argument(
        "--program",
        metavar="GPUBENCH",
        type=Path,
        default=Path("./gpubench"),
        help="the program to run (default: %(default)s)",
    )
    published.add_argument(
        "--readme",
        metavar="FILE",
        type=Path,
        help="also rewrite the block between the markers in this file",
    )
    published.set_defaults(run=_run_published)
    return parser


def _run_render(options: argparse.Namespace) -> None:
    from gpubench_reports.reader import read

    result = read(options.result)
    from gpubench_reports.render import default_directory, render

    _print_paths(render(result, options.out or default_directory(options.result)))


def _run_table(options: argparse.Namespace) -> None:
    from gpubench_reports.reader import read

    result = read(options.result)
    from gpubench_reports.tables import print_result

    print_result(result)


def _run_compare(options: argparse.Namespace) -> None:
    from gpubench_reports.compare import compare
    from gpubench_reports.reader import read

    comparison = compare(read(options.a), read(options.b))
    from gpubench_reports import compare_chart
    from gpubench_reports.files import ensure_directory
    from gpubench_reports.render import save
    from gpubench_reports.tables import print_comparison

    default = options.b.parent / f"{options.a.stem}-vs-{options.b.stem}-charts"
    directory = options.out or default
    ensure_directory(directory)
    paths = []
    for page, figure in enumerate(compare_chart.build(comparison), start=1):
        paths += save(figure, directory / (f"compare-{page}" if page > 1 else "compare"))
    print_comparison(comparison)
    _print_paths(paths)


def _run_validate(options: argparse.Namespace) -> None:
    from gpubench_reports.reader import read
    from gpubench_reports.validate import validate

    validation = validate([read(path) for path in options.results])
    from gpubench_reports import validate_chart
    from gpubench_reports.files import ensure_directory
    from gpubench_reports.render import save
    from gpubench_reports.tables import print_validation

    first = options.results[0]
    directory = options.out or first.parent / f"{first.stem}-validation"
    ensure_directory(directory)
    paths = save(validate_chart.build(validation), directory / "validation")
    print_validation(validation)
    _print_paths(paths)


def _run_published(options: argparse.Namespace) -> None:
    from gpubench_reports.published import (
        compare_points,
        markdown,
        read_points,
        rewrite_block,
        run_model,
    )

    points = read_points(options.points)
    text = markdown(points, compare_points(points, run_model(points, options.program)))
    if options.readme:
        rewrite_block(options.readme, text)
    print(text, end="")


def _print_paths(paths: Sequence[Path]) -> None:
    for path in paths:
        print(path)
