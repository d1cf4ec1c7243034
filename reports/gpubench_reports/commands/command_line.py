"""The command line. Modules that cost time to import are imported by the command that needs them.

Exit codes: 0 done; 2 something is wrong with a file, a folder or the command line (one line says
what); 130 interrupted.
"""

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpubench_reports import __version__
from gpubench_reports.common.errors import ReportError
from gpubench_reports.results.importers import PROGRAMS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gpubench_reports.results.reader import ResultFile

PROGRAM = "gpubench-report"

_DESCRIPTION = """\
Turns gpubench result files into tables and charts.

A result file comes from
  ./gpubench --benchmark_out=run.json --benchmark_out_format=json
"""

_EPILOG = """\
examples:
  gpubench-report html run.json                    everything in one page: run.html
  gpubench-report table run.json                   what was found, in the terminal
  gpubench-report render run.json                  charts into run-charts/
  gpubench-report compare monday.json today.json   what changed, and is it more than noise?
  gpubench-report compare a100.json h100.json h200.json --of-roof     which is used best?
  gpubench-report markdown run.json monday.json    for a pull request or a job's summary
  gpubench-report csv --all run.json > run.csv     every figure of every row
  gpubench-report import --from=nccl-tests log.txt -o old.json        others' results beside ours
  gpubench-report roofline run.json harness/devices/mi300x.json       devices on one chart
  gpubench-report validate measured.json           how wrong is the model?
  gpubench-report agree 1.json 2.json 3.json       do repetitions agree?
  gpubench-report claims run.json                  what is often said of GPUs, put to the test
  gpubench-report counters run.json profile.csv    does the profiler count what the model counts?
  gpubench-report calibrate run.json               a device file with what was measured
  gpubench-report goals results/local/validate-... what is wanted of a GPU, and is it reached?
  gpubench-report published tests/data/published   the model against published measurements

Data are in SI base units; prefixes (k, M, G, T) are powers of 1000.
Exit code 0: done. 2: a file, folder or option is wrong; one line says what.
"""

_RENDER = """\
Draws every chart that the file supports, each as PNG and SVG, and prints their paths.

  roofline         rows with arithmetic intensity and FLOP/s under the device's roofs:
                   solid measured, dash-dot modelled; of the device file, dashed what is
                   known and dotted what is derived or assumed
                   (none where no row has an intensity)
  levels           the rows whose prediction counts bytes for several levels of memory, once a
                   level: DRAM, L2, L1, shared memory, each under its own roof
  concept-NAME     one a concept: a panel a kernel, along the swept axis; points with 95 %
                   intervals, the law as a broad dashed line, the model's prediction dotted;
                   a kernel that sweeps two axes has a heat map too, with the line where its law
                   levels off
  concept-NAME-wire  of collectives: algorithm and bus bandwidth by size, with the alpha-beta fit
  warp-N           one a kernel of NAME.explain.json, which --explain writes beside NAME.json:
                   which words of which sectors, or banks, each lane of a warp asks for
  timeline-NAME    what happened when in one run of the rows that are worth a picture, where
                   RESULT.trace.json (gpubench --trace) of the same run lies beside the file

Names and axes come from the file: a new concept is drawn without any change here.
Figures of the model device carry the watermark "MODELLED, not measured".
"""

_HTML = """\
Writes one page that needs no network and no other file: device and health, roofs, the worst row and
why, every chart with how to read it, and a table to sort, filter and open raw values from. OTHERS
are compared with the file. A browser prints it to PDF.

Rows are graded as expected, low or suspiciously high: against what --against has for the same row
on the same device (folders of measured result files or of published points), else against the
row's law, the model's prediction, or its roof. The rules are verdicts.toml of this package.
"""

_MARKDOWN = """\
Prints a summary in Markdown: health, what is not as expected and why, roofs, and a paragraph a
concept; with OTHERS how much faster or slower each concept is than there.
"""

_CSV = """\
Prints a line a row, figures in SI base units: time with its interval, the figure that the row is
judged by, law, roof, prediction, what binds it and its verdict. With --all also a column for every
argument, counter and word that any row has. A cell is empty where the row has no such figure.
"""

_TABLE = """\
Prints one line a row:

  grade       as expected, low or suspiciously high: see html --help
  time        median
  useful      useful bytes per second       arithmetic  FLOP per second
  items       steps, launches, ... a second: what a program of several operations gets done
  law ratio   measured over the concept's law; 1.000 means that theory holds
  of roof     fraction of the roof that binds this row
  predicted   time that the model expects, and its signed error
  bus         bus bandwidth of a collective
  bound       what limits the row: dram, l2, shared, issue, fp32, tensor, latency, launch, ..., or
              what its figures say more exactly, such as branch paths or the host, with the
              label behind it
  note        numbers of what to know before trusting it, which stands below the table: not
              converged, throttled, an unconfirmed counting rule, what the prediction assumes, what
              the compiler made of the counted accesses

Then the notes, and the rows that were skipped or failed, with the reason. Columns nobody filled are
left out. A terminal gets the table in its width, a pipe all of it: about 190 characters (less -S).
"""

_COMPARE = """\
Compares B with A, row by row: how many times as fast B is, with the 95 % interval that follows
from the intervals of both times. An interval that holds 1 shows no difference. Prints the rows that
changed, most first, and counts the others.

With more files than two, with --by or with --of-roof: the geometric means of the ratios by concept,
kernel or type, a column a file, named by what tells the files apart (device, driver, commit, ...).

Files that are unlike (modelled against measured, another device, another mode) are compared,
and every output says so. Rows that only one file has are listed.
"""


_ROOFLINE = """\
Draws the roofs of several devices on one chart, each with its ridge point: of result files as they
ran (with their rows), of device files (harness/devices/NAME.json, or one like it) as the maker or
others state them. Solid, dashed and dotted lines are the types of --dtype.
"""

_VALIDATE = """\
Compares predicted with measured times, so it needs a file measured on a GPU: of every measured row
with a prediction (--predict), or with the same row in a modelled file of the same device and mode.

Prints the signed error by concept, the mean of its size (MAPE), the worst rows, and how many meet
the target: 25 % from the data sheet alone, 10 % where the roof that bounds the row was calibrated
on this GPU. Rows of the latter kind are fitted, all others held out. Draws predicted over measured
time, and the errors.
"""

_AGREE = """\
Compares files of equal runs, each with each: how far the medians lie apart, how wide the intervals
are, and how many pairs of rows a comparison tells apart (5 %, if nothing but chance is between
the runs), by concept. Then the rows that lie farthest apart, and those that some file lacks.
"""

_CLAIMS = """\
Puts what is often said of GPUs ("padding is a free speed-up", "a launch costs a few microseconds")
to the test: the claim, the figure that the rows of RESULT give, the range in which the claim holds,
and a verdict. It holds, does not hold, holds partly (and where), or was not tested (and why: a row
is missing, was skipped, or needs another device): these come last, a line each. Of a modelled file
the verdicts are modelled.

The claims are claims.toml of this package.
"""

_COUNTERS = """\
Compares what the model counts with what Nsight Compute counts, launch by launch:

  ./gpubench --profile --predict --benchmark_filter=F --benchmark_out=run.json
  ncu --profile-from-start off --nvtx --clock-control none --cache-control none \\
      --csv --page raw --print-units base --log-file profile.csv \\
      --metrics "$(gpubench-report counters --metrics)" ./gpubench --profile --benchmark_filter=F
  gpubench-report counters run.json profile.csv

Prints, for each figure, how many launches agree, and then every difference, with the reason where
one is known beforehand. --times adds how the times of another file (of a hot run, say) compare with
the profiler's durations.
"""

_GOALS = """\
Holds a folder that scripts/validate-gpu has filled against what gpubench wants to show on a GPU:
the goal, the figure, and whether it is met, missed or absent (and why).

The goals are goals.toml of this package; some are for one device only.
"""

_PEERS = """\
Other programs on the same GPU: what gpubench finds over what they find, with bytes and FLOP
counted alike, and the seconds that each needs for an interval of 0.5 % to either side. DIR holds
their runs.

With --program they are run first, in turns: PyTorch of --python, and of the folder --sources what
it holds of BabelStream, gpu-benches, mixbench, nvbandwidth, nvbench and nccl-tests, each of which
is built in DIR/build. Runs that DIR has already are not repeated. Whatever cannot be run is named
with the reason.
"""

_IMPORT = """\
Writes a result file with the rows of FILE, which another program wrote, so that they can be drawn
and compared like our own:

  nccl-tests   what all_reduce_perf, reduce_scatter_perf, ... print, as all_reduce/KERNEL/...
  babelstream  its --csv output, as stream/KERNEL/dtype:.../bytes:.../unroll:1
  gpu-benches  what its gpu-stream prints, as stream/KERNEL/dtype:fp64/.../block:...
  mixbench     what it prints, as roofline/mixbench/dtype:.../iterations:...
  nvbandwidth  its --json output, as nvbandwidth/TESTCASE/row:.../column:...
  nvbench      its --json output, as nvbench/BENCHMARK/AXIS:...

A figure is taken as the program states it; what it does not state is absent.
"""

_GALLERY = """\
Draws the pictures that DIR/pictures.toml lists from the result files beside them. With --program
the files are made anew first, by the command lines that the list holds.
"""

_CALIBRATE = """\
Writes a device file in which every figure that a measured row gives is that row's, marked
"calibrated" with row, date, driver, CUDA and commit; the others stay as BASE has them. Prints each
figure old and new, then those that no row gave and why, and those that no row measures.

The rules are calibration.toml of this package. scripts/calibrate runs just the rows that they name,
and then this. A modelled file gives back what the model was given: that tests the rules
(--from-model), and the figures are marked "assumed" and MODELLED.
"""

_PUBLISHED = """\
Runs the model (--program, which must have been built) for the rows that published measurements can
be compared with, and prints the errors as Markdown. It needs no GPU. POINTS is a folder of points
files: what was measured, where it was published, whether the device file took a figure from there
("fitted"), and what no row measures yet.
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
    render.add_argument(
        "--out", metavar="DIR", type=Path, help="where to (default: RESULT-charts beside the file)"
    )
    render.set_defaults(run=_run_render)

    html = command("html", "write everything as one page", _HTML)
    _one_and_others(html)
    html.add_argument(
        "-o",
        "--out",
        metavar="FILE",
        type=Path,
        help="where to (default: RESULT.html beside the file)",
    )
    html.set_defaults(run=_run_html)

    markdown = command("markdown", "print a summary for a pull request", _MARKDOWN)
    _one_and_others(markdown)
    markdown.set_defaults(run=_run_markdown)

    csv = command("csv", "print every row as CSV", _CSV)
    csv.add_argument("result", metavar="RESULT.json", type=Path)
    csv.add_argument(
        "--all",
        action="store_true",
        dest="everything",
        help="every argument, counter and word that any row has",
    )
    _against(csv)
    csv.set_defaults(run=_run_csv)

    table = command("table", "print a result file as a table", _TABLE)
    table.add_argument("result", metavar="RESULT.json", type=Path)
    _against(table)
    table.set_defaults(run=_run_table)

    roofline = command("roofline", "draw the roofs of several devices on one chart", _ROOFLINE)
    roofline.add_argument(
        "files", metavar="FILE.json", type=Path, nargs="+", help="a result file, or a device file"
    )
    roofline.add_argument(
        "--dtype",
        metavar="NAME,...",
        default="tensor_bf16",
        help="peaks to draw, such as fp32 (default: %(default)s, or "
        "tensor_fp16 where a device has only that)",
    )
    roofline.add_argument(
        "--out", metavar="DIR", type=Path, default=Path(), help="where to (default: here)"
    )
    roofline.set_defaults(run=_run_roofline)

    compare = command("compare", "compare result files", _COMPARE)
    compare.add_argument("a", metavar="A.json", type=Path, help="the reference")
    compare.add_argument(
        "others", metavar="B.json", type=Path, nargs="+", help="what is compared with it"
    )
    compare.add_argument(
        "--by",
        choices=("concept", "kernel", "dtype"),
        help="means by this; dtype: of each file, its types with one another",
    )
    compare.add_argument(
        "--of-roof",
        action="store_true",
        help="compare how much of its roof each row reaches, not its speed",
    )
    compare.add_argument(
        "--all",
        action="store_true",
        dest="everything",
        help="print every row, not only those that changed",
    )
    compare.add_argument(
        "--charts", action="store_true", help="also draw the ratios, into A-vs-B-charts beside B"
    )
    compare.add_argument("--out", metavar="DIR", type=Path, help="draw them into this folder")
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

    agree = command("agree", "say how well repetitions agree", _AGREE)
    agree.add_argument("results", metavar="FILE.json", type=Path, nargs="+")
    agree.set_defaults(run=_run_agree)

    claims = command("claims", "put what is often said of GPUs to the test", _CLAIMS)
    claims.add_argument("results", metavar="RESULT.json", type=Path, nargs="+")
    _json_or_markdown(claims)
    claims.set_defaults(run=_run_claims)

    counters = command("counters", "compare the model's counts with ncu's", _COUNTERS)
    _result_or(counters, "--metrics", "print what ncu is to be asked for")
    counters.add_argument("profiles", metavar="PROFILE.csv", type=Path, nargs="*")
    counters.add_argument(
        "--times",
        metavar="FILE.json",
        type=Path,
        help="a measured file, whose times are compared as well",
    )
    counters.set_defaults(run=_run_counters)

    goals = command("goals", "say which goals a validated GPU meets", _GOALS)
    goals.add_argument("directory", metavar="DIR", type=Path)
    _json_or_markdown(goals)
    goals.set_defaults(run=_run_goals)

    calibrate = command("calibrate", "turn measured rows into a device file", _CALIBRATE)
    _result_or(calibrate, "--filter", "print the --benchmark_filter of the rows that are needed")
    calibrate.add_argument(
        "--base", metavar="NAME|FILE.json", help="where to start (default: the result's device)"
    )
    calibrate.add_argument(
        "--name", metavar="NAME", help="what to call the device (default: DEVICE-calibrated)"
    )
    calibrate.add_argument(
        "-o", "--out", metavar="FILE", type=Path, help="where to (default: NAME.json)"
    )
    calibrate.add_argument("--from-model", action="store_true", help="take a modelled file")
    calibrate.set_defaults(run=_run_calibrate)

    peers = command("peers", "compare gpubench with other programs", _PEERS)
    peers.add_argument("directory", metavar="DIR", type=Path)
    peers.add_argument("--program", metavar="GPUBENCH", type=Path, help="run this and the others")
    peers.add_argument("--sources", metavar="FOLDER", type=Path, help="of the other programs")
    peers.add_argument(
        "--python",
        metavar="PYTHON",
        default="python3",
        help="that has PyTorch (default: %(default)s)",
    )
    peers.add_argument("--nvcc", metavar="NVCC", default="nvcc", help="(default: %(default)s)")
    peers.add_argument("--device", metavar="NAME", default="", help="what gpubench calls the GPU")
    peers.add_argument(
        "--runs", metavar="N", type=int, default=5, help="of each program (default: %(default)s)"
    )
    peers.add_argument(
        "--seconds",
        metavar="SECONDS",
        type=float,
        default=540,
        help="after which no run is begun (default: %(default)s)",
    )
    peers.set_defaults(run=_run_peers)

    imported = command("import", "turn other programs' results into a result file", _IMPORT)
    imported.add_argument("file", metavar="FILE", type=Path)
    imported.add_argument("--from", dest="program", required=True, choices=tuple(PROGRAMS))
    imported.add_argument(
        "--device",
        metavar="NAME",
        default="",
        help="what gpubench calls the device, such as h200-sxm",
    )
    imported.add_argument("-o", "--out", metavar="OUT.json", type=Path, required=True)
    imported.set_defaults(run=_run_import)

    gallery = command("gallery", "draw the pictures of the README", _GALLERY)
    gallery.add_argument(
        "directory",
        metavar="DIR",
        type=Path,
        nargs="?",
        default=Path("reports/gallery"),
        help="(default: %(default)s)",
    )
    gallery.add_argument(
        "--program", metavar="GPUBENCH", type=Path, help="run this for new result files first"
    )
    gallery.set_defaults(run=_run_gallery)

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


def _one_and_others(command: argparse.ArgumentParser) -> None:
    command.add_argument("result", metavar="RESULT.json", type=Path)
    command.add_argument(
        "others", metavar="OTHER.json", type=Path, nargs="*", help="compared with it"
    )
    _against(command)


def _result_or(command: argparse.ArgumentParser, flag: str, what: str) -> None:
    """A result file, or `flag`, which prints what one has to be made with."""
    either = command.add_mutually_exclusive_group(required=True)
    either.add_argument("result", metavar="RESULT.json", type=Path, nargs="?")
    either.add_argument(flag, action="store_true", help=what)


def _json_or_markdown(command: argparse.ArgumentParser) -> None:
    form = command.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print them for other programs")
    form.add_argument("--markdown", action="store_true", help="print them as Markdown")


def _against(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--against",
        metavar="PLACE",
        type=Path,
        action="append",
        default=[],
        help="a folder or file with what was recorded or published for this "
        "device; may be repeated",
    )


def _run_html(options: argparse.Namespace) -> None:
    from gpubench_reports.comparisons.ranges import ranges_for
    from gpubench_reports.results.reader import read

    result = read(options.result)
    others = [read(path) for path in options.others]
    recorded = ranges_for(result, options.against)
    from gpubench_reports.common.files import require_directory, write_atomically
    from gpubench_reports.pages import html_report

    path = options.out or html_report.default_path(options.result)
    require_directory(path.parent)
    write_atomically(path, html_report.build(result, others, recorded))
    _print_paths([path])


def _run_markdown(options: argparse.Namespace) -> None:
    from gpubench_reports.comparisons.compare import compare
    from gpubench_reports.comparisons.ranges import ranges_for
    from gpubench_reports.pages.markdown_report import to_markdown
    from gpubench_reports.results.reader import read
    from gpubench_reports.rules.verdicts import judge

    result = read(options.result)
    comparisons = [compare(read(path), result) for path in options.others]
    verdicts = judge(result, ranges_for(result, options.against))
    print(to_markdown(result, verdicts, comparisons), end="")


def _run_csv(options: argparse.Namespace) -> None:
    from gpubench_reports.comparisons.ranges import ranges_for
    from gpubench_reports.pages.csv_report import to_csv
    from gpubench_reports.results.reader import read
    from gpubench_reports.rules.verdicts import judge

    result = read(options.result)
    verdicts = judge(result, ranges_for(result, options.against))
    print(to_csv(result, verdicts, options.everything), end="")


def _run_render(options: argparse.Namespace) -> None:
    from gpubench_reports.results.reader import read

    result = read(options.result)
    from gpubench_reports.charts.render import default_directory, render

    paths = render(result, options.out or default_directory(options.result))
    _print_paths(paths)
    if not any(path.stem == "roofline" for path in paths):
        print(
            f"{PROGRAM}: no roofline: no row has both an arithmetic intensity and FLOP/s",
            file=sys.stderr,
        )


def _run_table(options: argparse.Namespace) -> None:
    from gpubench_reports.results.reader import read

    result = read(options.result)
    from gpubench_reports.comparisons.ranges import ranges_for
    from gpubench_reports.pages.tables import print_result
    from gpubench_reports.rules.verdicts import judge

    print_result(result, judge(result, ranges_for(result, options.against)))


def _run_compare(options: argparse.Namespace) -> None:
    from gpubench_reports.results.reader import read

    last = options.others[-1]
    directory = options.out
    if options.charts and not directory:
        directory = last.parent / f"{options.a.stem}-vs-{last.stem}-charts"
    results = [read(path) for path in (options.a, *options.others)]
    if len(results) == 2 and not options.by and not options.of_roof:
        _compare_two(*results, directory, options.everything)
        return
    from gpubench_reports.comparisons import speedups
    from gpubench_reports.pages.tables import print_speedups

    table = speedups.table(results, options.by or "concept", options.of_roof)
    print_speedups(table)
    if directory:
        from gpubench_reports.charts import speedup_chart

        modelled = any(result.context.modelled for result in results)
        _save_all(directory, {"speedups": speedup_chart.build(table, modelled)})


def _compare_two(
    a: "ResultFile", b: "ResultFile", directory: Path | None, everything: bool
) -> None:
    from gpubench_reports.comparisons.compare import compare
    from gpubench_reports.pages.tables import print_comparison

    comparison = compare(a, b)
    print_comparison(comparison, everything)
    if directory:
        from gpubench_reports.charts import compare_chart

        pages = enumerate(compare_chart.build(comparison), start=1)
        _save_all(directory, {f"compare-{n}" if n > 1 else "compare": page for n, page in pages})


def _save_all(directory: Path, figures: "dict[str, Figure]") -> None:
    """Saves the figures in the folder under their names, and prints the paths."""
    from gpubench_reports.charts.render import save
    from gpubench_reports.common.files import ensure_directory

    ensure_directory(directory)
    _print_paths(
        [path for name, figure in figures.items() for path in save(figure, directory / name)]
    )


def _run_roofline(options: argparse.Namespace) -> None:
    from gpubench_reports.results.device_files import read_machine

    machines = [read_machine(path) for path in options.files]
    from gpubench_reports.charts import devices_chart

    figure = devices_chart.build(machines, [name for name in options.dtype.split(",") if name])
    _save_all(options.out, {"rooflines": figure})


def _run_validate(options: argparse.Namespace) -> None:
    from gpubench_reports.comparisons.validate import validate
    from gpubench_reports.results.reader import read

    validation = validate([read(path) for path in options.results])
    from gpubench_reports.charts import validate_chart
    from gpubench_reports.pages.tables import print_validation

    first = options.results[0]
    directory = options.out or first.parent / f"{first.stem}-validation"
    print_validation(validation)
    _save_all(directory, {"validation": validate_chart.build(validation)})


def _run_agree(options: argparse.Namespace) -> None:
    from gpubench_reports.comparisons.agree import agree
    from gpubench_reports.results.reader import read

    found = agree([read(path) for path in options.results])
    from gpubench_reports.pages.tables import print_agreement

    print_agreement(found)
    if found.note:
        print(f"note: {found.note}")


def _run_claims(options: argparse.Namespace) -> None:
    from gpubench_reports.results.reader import read
    from gpubench_reports.rules.claims import as_json, judge_claims

    found = [(result, judge_claims(result)) for result in map(read, options.results)]
    if options.json:
        print(json.dumps([as_json(*one) for one in found], indent=1, ensure_ascii=False))
        return
    if options.markdown:
        from gpubench_reports.pages.markdown_report import claims_to_markdown

        print("\n".join(claims_to_markdown(*one) for one in found), end="")
        return
    from gpubench_reports.pages.tables import print_claims

    for one in found:
        print_claims(*one)


def _run_counters(options: argparse.Namespace) -> None:
    from gpubench_reports.comparisons import counters

    if options.metrics:
        print(",".join(counters.metrics()))
        return
    from gpubench_reports.results.reader import read

    result = read(options.result)
    if not options.profiles:
        raise ReportError(options.result, "no profile of ncu was given to compare it with")
    # All that may be wrong with a file is said before any two are compared.
    times = read(options.times) if options.times else None
    profiled = [launch for path in options.profiles for launch in counters.read_profile(path)]
    found = counters.compare(result, profiled)
    timed = counters.timings(times, profiled) if times else []
    from gpubench_reports.pages.tables import print_counters, print_timings

    print_counters(found)
    if times:
        print_timings(timed)


def _run_goals(options: argparse.Namespace) -> None:
    from gpubench_reports.rules.goals import as_json, hold

    context, outcomes = hold(options.directory)
    if options.json:
        found = as_json(options.directory, context, outcomes)
        print(json.dumps(found, indent=1, ensure_ascii=False))
        return
    if options.markdown:
        from gpubench_reports.pages.markdown_report import goals_to_markdown

        print(goals_to_markdown(context, outcomes), end="")
        return
    from gpubench_reports.pages.tables import print_goals

    print_goals(context, outcomes)


def _run_calibrate(options: argparse.Namespace) -> None:
    from gpubench_reports.rules import calibration

    by = calibration.rules()
    if options.filter:
        print(by.pattern())
        return
    from gpubench_reports.common.files import require_directory, write_atomically
    from gpubench_reports.results.reader import read

    result = read(options.result)
    out = calibration.output_path(result, options.name, options.out)
    base = calibration.read_device(options.base or result.context.device)
    found = calibration.calibrate(result, base, options.from_model, by)
    from gpubench_reports.pages.tables import print_calibration

    require_directory(out.parent)
    write_atomically(out, calibration.device_text(found, out.stem).encode())
    print_calibration(found, by.kept)
    _print_paths([out])


def _run_peers(options: argparse.Namespace) -> None:
    from gpubench_reports.comparisons import peers
    from gpubench_reports.pages.tables import print_peers

    settings = peers.Settings(
        options.program or Path(),
        options.directory,
        options.sources,
        options.python,
        options.nvcc,
        options.device,
        options.runs,
        options.seconds,
    )
    peers.check(settings)
    if options.program:
        for name, why in peers.run_all(settings).items():
            print(f"skipped {name}: {why}")
    print_peers(peers.compare(options.directory))


def _run_import(options: argparse.Namespace) -> None:
    from gpubench_reports.common.files import require_directory, write_atomically
    from gpubench_reports.results.importers import convert, to_bytes

    document = convert(options.file, options.program, options.device)
    require_directory(options.out.parent)
    write_atomically(options.out, to_bytes(document))
    _print_paths([options.out])


def _run_gallery(options: argparse.Namespace) -> None:
    from gpubench_reports.charts import gallery

    sources, pictures = gallery.read_list(options.directory)
    if options.program:
        _print_paths(gallery.run_model(options.directory, sources, options.program))
    _print_paths(gallery.draw(options.directory, pictures))


def _run_published(options: argparse.Namespace) -> None:
    from gpubench_reports.comparisons.published import (
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
