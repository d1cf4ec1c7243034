"""gpubench-report published: the model against published measurements."""

import argparse
from pathlib import Path

from gpubench_reports.commands.arguments import json_flag

NAME = "published"
SUMMARY = "compare the model with published measurements"
HELP = """\
Runs the model (--program, which must be built) for all rows that can be compared with published
measurements, and prints the errors as Markdown. It needs no GPU. POINTS is a folder of points
files. They say what was measured, where it was published, whether the device file took a figure
from there ("fitted"), and what no row measures yet.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("points", metavar="POINTS", type=Path)
    parser.add_argument(
        "--program",
        metavar="GPUBENCH",
        type=Path,
        default=Path("./gpubench"),
        help="the program to run (default: %(default)s)",
    )
    parser.add_argument(
        "--readme",
        metavar="FILE",
        type=Path,
        help="also rewrite the block between the markers in this file; if it has a block for them, "
        "the tables of errors go there",
    )

    json_flag(parser)


def run(options: argparse.Namespace) -> None:
    from gpubench_reports.common.json_text import json_text
    from gpubench_reports.comparisons.points import read_points
    from gpubench_reports.comparisons.published import (
        compare_points,
        markdown,
        run_model,
        write_page,
    )
    from gpubench_reports.rules.model_error import class_of

    points = read_points(options.points)
    results = run_model(points, options.program)
    compared = compare_points(points, results, class_of)
    if options.readme:
        write_page(options.readme, points, compared)
    text = markdown(points, compared)
    print(json_text(compared) + "\n" if options.json else text, end="")
