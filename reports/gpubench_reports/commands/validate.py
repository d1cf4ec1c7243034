"""gpubench-report validate: the model against measurement."""

import argparse
from pathlib import Path

from gpubench_reports.commands.arguments import json_flag
from gpubench_reports.commands.output import save_charts

NAME = "validate"
SUMMARY = "compare the model's times with measured ones"
HELP = """\
Compares predicted with measured times, so it needs a file measured on a GPU. It uses every measured
row that has a prediction (--predict), or whose name is in a modelled file of the same device and
mode: one that is given, else the one that ships with gpubench.

Prints the signed error by concept, its mean size (MAPE), the worst rows, and how many rows meet the
target. The target is 25 % from the data sheet alone, and 10 % if a calibrated figure of the device
limits the row. Rows of the second kind are fitted; all others are held out. Names the rows that
were held back or did not converge. Draws predicted against measured time, and the errors.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "results",
        metavar="FILE.json",
        type=Path,
        nargs="+",
        help="measured files, and modelled ones where they lack predictions",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        help="folder to write to (default: FILE-validation next to the first file)",
    )

    json_flag(parser)


def run(options: argparse.Namespace) -> None:
    from gpubench_reports.comparisons.validate import as_json, validate
    from gpubench_reports.results.reader import read

    validation = validate([read(path) for path in options.results])
    from gpubench_reports.charts import validate_chart
    from gpubench_reports.pages.terminal.agreement import print_validation

    first = options.results[0]
    directory = options.out or first.parent / f"{first.stem}-validation"
    if options.json:
        print(as_json(validation))
    else:
        print_validation(validation)
    charts = {"validation": validate_chart.build(validation)}
    save_charts(directory, charts, say=not options.json)
