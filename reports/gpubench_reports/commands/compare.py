"""gpubench-report compare: two result files, or many, row by row."""

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

from gpubench_reports.commands.arguments import json_flag
from gpubench_reports.commands.output import save_charts
from gpubench_reports.common.errors import ReportError

if TYPE_CHECKING:
    from gpubench_reports.results.reader import ResultFile

NAME = "compare"
SUMMARY = "compare two or more result files"
HELP = """\
Compares B with A, row by row: the speed of B divided by the speed of A, with a 95 % interval that
combines the intervals of both times. An interval that contains 1 shows no difference. Prints the
rows that changed, largest change first, and counts the others.

--against=h100-sxm compares one file with the modelled run of that device.

--fail-on=5% makes the exit code 1 if a row of B is more than 5 % slower. If the row has an
interval, all of it must be more than 5 % slower. A row that A measured and B lacks, and any row
that failed in B, also make the exit code 1. A and B must then be two different runs.

With more than two files, with --by or with --of-roof, compare prints the geometric means of the
ratios by concept, kernel or type. There is one column per file, named by what distinguishes the
file: device, driver, commit, ...

Different files (modelled and measured, another device, another mode) can be compared too; every
output then says so. Rows that only one file has are listed.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A.json", type=Path, help="the reference")
    parser.add_argument(
        "others", metavar="B.json", type=Path, nargs="*", help="the files to compare with it"
    )
    parser.add_argument(
        "--against",
        metavar="DEVICE",
        help="compare A.json with the modelled run of this device that ships with gpubench",
    )
    parser.add_argument(
        "--by",
        choices=("concept", "kernel", "dtype"),
        help="print means by this; dtype compares the types within each file",
    )
    parser.add_argument(
        "--of-roof",
        action="store_true",
        help="compare how much of its roof each row reaches, not its speed",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        dest="everything",
        help="print every row, not only those that changed",
    )
    parser.add_argument(
        "--fail-on",
        metavar="PERCENT",
        type=_percent,
        help="exit with 1 if a row is slower by more than this, such as 5%%",
    )
    json_flag(parser)
    parser.add_argument(
        "--charts", action="store_true", help="also draw the ratios, into A-vs-B-charts beside B"
    )
    parser.add_argument("--out", metavar="DIR", type=Path, help="draw them into this folder")


def _percent(text: str) -> float:
    """The fraction that "5%" or "5" stands for."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = math.nan
    if not 0 <= value < 100:
        raise argparse.ArgumentTypeError(f"{text!r} is no percentage from 0 to 100, such as 5%")
    return value / 100


def run(options: argparse.Namespace) -> int | None:
    from gpubench_reports.results.baselines import baseline
    from gpubench_reports.results.reader import read

    paths = [options.a, *options.others]
    if options.against is None and not options.others:
        raise ReportError(options.a, "what is it to be compared with? Name a file, or --against")
    last = paths[-1]
    directory = options.out
    if options.charts and not directory:
        directory = last.parent / f"{options.a.stem}-vs-{last.stem}-charts"
    count = len(paths) + (options.against is not None)
    of_many = count > 2 or options.by or options.of_roof
    if of_many and options.fail_on is not None:
        raise ReportError("--fail-on", "is for two files, row by row")
    results = [read(path) for path in paths]
    if options.against is not None:
        results.insert(0, baseline(options.against))
    if not of_many:
        return _compare_two(results[0], results[1], directory, options)
    from gpubench_reports.common.json_text import json_text
    from gpubench_reports.comparisons import speedups
    from gpubench_reports.pages.terminal.comparison import print_speedups

    table = speedups.table(results, options.by or "concept", options.of_roof)
    if options.json:
        print(json_text(table))
    else:
        print_speedups(table, results)
    if directory:
        from gpubench_reports.charts import speedup_chart

        modelled = any(result.context.modelled for result in results)
        charts = {"speedups": speedup_chart.build(table, modelled)}
        save_charts(directory, charts, say=not options.json)
    return None


def _compare_two(
    a: "ResultFile", b: "ResultFile", directory: Path | None, options: argparse.Namespace
) -> int:
    from gpubench_reports.comparisons.compare import as_json, compare, failures
    from gpubench_reports.pages.terminal.comparison import print_comparison, print_failures
    from gpubench_reports.results.copies import is_copy

    if options.fail_on is not None and a.path.samefile(b.path):
        raise ReportError(b.path, "is both A and B: with --fail-on, it would always pass")
    comparison = compare(a, b)
    failed = [] if options.fail_on is None else failures(comparison, options.fail_on)
    # A model repeats itself to the last digit.
    if options.fail_on is not None and not failed and not a.context.modelled and is_copy(a, b):
        raise ReportError(b.path, "is a copy of A: with --fail-on, it would always pass")
    if options.json:
        print(as_json(comparison))
    else:
        print_comparison(comparison, options.everything)
    if failed:
        print_failures(failed, options.fail_on)
    if directory:
        from gpubench_reports.charts import compare_chart

        pages = enumerate(compare_chart.build(comparison), start=1)
        charts = {f"compare-{n}" if n > 1 else "compare": page for n, page in pages}
        save_charts(directory, charts, say=not options.json)
    return 1 if failed else 0
