"""gpubench-report compare: two result files, or many, row by row."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from gpubench_reports.commands.output import save_charts

if TYPE_CHECKING:
    from gpubench_reports.results.reader import ResultFile

NAME = "compare"
SUMMARY = "compare result files"
HELP = """\
Compares B with A, row by row: how many times as fast B is, with the 95 % interval that follows
from the intervals of both times. An interval that holds 1 shows no difference. Prints the rows that
changed, most first, and counts the others.

With more files than two, with --by or with --of-roof: the geometric means of the ratios by concept,
kernel or type, a column a file, named by what tells the files apart (device, driver, commit, ...).

Files that are unlike (modelled against measured, another device, another mode) are compared,
and every output says so. Rows that only one file has are listed.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A.json", type=Path, help="the reference")
    parser.add_argument(
        "others", metavar="B.json", type=Path, nargs="+", help="what is compared with it"
    )
    parser.add_argument(
        "--by",
        choices=("concept", "kernel", "dtype"),
        help="means by this; dtype: of each file, its types with one another",
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
        "--charts", action="store_true", help="also draw the ratios, into A-vs-B-charts beside B"
    )
    parser.add_argument("--out", metavar="DIR", type=Path, help="draw them into this folder")


def run(options: argparse.Namespace) -> None:
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
        save_charts(directory, {"speedups": speedup_chart.build(table, modelled)})


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
        save_charts(directory, {f"compare-{n}" if n > 1 else "compare": page for n, page in pages})
