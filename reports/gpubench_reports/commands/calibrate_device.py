"""gpubench-report calibrate: a device file from measured rows."""

import argparse
from pathlib import Path

from gpubench_reports.commands.arguments import result_or
from gpubench_reports.commands.output import print_paths

NAME = "calibrate"
SUMMARY = "turn measured rows into a device file"
HELP = """\
Writes a device file with every figure that a measured row gives, marked "calibrated" with row,
date, driver, CUDA and commit; the others stay as in BASE. Prints each figure old and new, then
those that no row gave and why, and those that no row measures.

The rules are calibration.toml of this package. scripts/calibrate runs just the rows that they name,
and then this. A modelled file gives back what the model was given: that tests the rules
(--from-model), and the figures are marked "assumed" and MODELLED.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    result_or(parser, "--filter", "print the --benchmark_filter of the rows that are needed")
    parser.add_argument(
        "--base", metavar="NAME|FILE.json", help="where to start (default: the result's device)"
    )
    parser.add_argument(
        "--name", metavar="NAME", help="what to call the device (default: DEVICE-calibrated)"
    )
    parser.add_argument(
        "-o", "--out", metavar="FILE", type=Path, help="where to (default: NAME.json)"
    )
    parser.add_argument("--from-model", action="store_true", help="take a modelled file")


def run(options: argparse.Namespace) -> None:
    from gpubench_reports.results.device_files import read_device
    from gpubench_reports.rules import calibration

    by = calibration.rules()
    if options.filter:
        print(by.pattern())
        return
    from gpubench_reports.common.files import require_directory, write_atomically
    from gpubench_reports.results.reader import read

    result = read(options.result)
    out = calibration.output_path(result, options.name, options.out)
    base = read_device(options.base or result.context.device)
    found = calibration.calibrate(result, base, options.from_model, by)
    from gpubench_reports.pages.terminal.rules import print_calibration

    require_directory(out.parent)
    write_atomically(out, calibration.device_text(found, out.stem).encode())
    print_calibration(found, by.kept)
    print_paths([out])
