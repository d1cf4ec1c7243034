"""gpubench-report html: one page about a result file."""

import argparse
from pathlib import Path

from gpubench_reports.commands.arguments import one_and_others
from gpubench_reports.commands.output import print_paths

NAME = "html"
SUMMARY = "write everything as one page"
HELP = """\
Writes one page that needs no network and no other files: device and health, roofs, the worst rows
and why, every chart with how to read it, and a table to sort, filter and open raw values from.
The page compares RESULT with OTHERS. A browser can print it to PDF.

Rows are graded as expected, low or suspiciously high. The grade compares a row with the values in
--against for the same row and device (folders of measured result files or published points), else
with the row's law, the model's prediction, or its roof. Copies of RESULT, and rows that did not
converge or were throttled, are ignored there. The rules are in verdicts.toml of this package.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    one_and_others(parser)
    parser.add_argument(
        "-o",
        "--out",
        metavar="FILE",
        type=Path,
        help="file to write (default: RESULT.html next to the file)",
    )
    parser.add_argument(
        "--explained",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="a NAME.explain.json of another run that explains rows of this file; may be repeated",
    )


def run(options: argparse.Namespace) -> None:
    from gpubench_reports.comparisons.ranges import files_in, ranges_for
    from gpubench_reports.results.reader import read

    result = read(options.result)
    others = [read(path) for path in options.others]
    recorded = ranges_for(result, options.against)
    from gpubench_reports.common.files import require_output, write_atomically
    from gpubench_reports.pages.html import build as page_builder
    from gpubench_reports.results.companions import with_companions

    path = options.out or page_builder.default_path(options.result)
    results = [options.result, *options.others, *files_in(options.against)]
    require_output(path, [*with_companions(results), *options.explained])
    write_atomically(path, page_builder.build(result, others, recorded, options.explained))
    print_paths([path])
