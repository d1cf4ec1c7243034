"""gpubench-report calibrate: a device file from measured rows."""

import argparse
from pathlib import Path

from gpubench_reports.commands.arguments import result_or
from gpubench_reports.commands.output import print_paths

NAME = "calibrate"
SUMMARY = "turn measured rows into a device file"
HELP = """\
Writes a device file. Every figure that a row of RESULT measures is marked "calibrated", with row,
date, driver, CUDA and commit. All other figures stay as in BASE. Prints the old and new value of
each figure, then the figures that no row of RESULT gave, with the reason, and the figures that no
row can measure.

The rules are in calibration.toml of this package. scripts/calibrate first runs only the rows that
the rules need. With --from-model, RESULT may be modelled. That tests the rules, because they must
find the figures that the model used; the figures are marked "assumed" and MODELLED.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    result_or(parser, "--filter", "print the --benchmark_filter of the rows that are needed")
    parser.add_argument(
        "--base",
        metavar="NAME|FILE.json",
        help="the device file to start from (default: the result's device)",
    )
    parser.add_argument(
        "--name", metavar="NAME", help="name of the new device (default: DEVICE-calibrated)"
    )
    parser.add_argument(
        "-o", "--out", metavar="FILE", type=Path, help="file to write (default: NAME.json)"
    )
    parser.add_argument("--from-model", action="store_true", help="accept a modelled file")


def run(options: argparse.Namespace) -> None:
    from gpubench_reports.results.device_files import read_device
    from gpubench_reports.rules import calibration

    by = calibration.rules()
    if options.filter:
        print(by.pattern())
        return
    from gpubench_reports.common.files import require_output, write_atomically
    from gpubench_reports.results.companions import with_companions
    from gpubench_reports.results.reader import read

    result = read(options.result)
    out = calibration.output_path(result, options.name, options.out)
    base = read_device(options.base or result.context.device)
    found = calibration.calibrate(result, base, options.from_model, by)
    from gpubench_reports.pages.terminal.rules import print_calibration

    # The base may be brought up to date in its place.
    require_output(out, with_companions([options.result]))
    write_atomically(out, calibration.device_text(found, out.stem).encode())
    print_calibration(found, by.kept)
    print_paths([out])
