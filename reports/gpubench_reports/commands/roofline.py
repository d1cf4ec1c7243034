"""gpubench-report roofline: the roofs of several devices on one chart."""

import argparse
from pathlib import Path

from gpubench_reports.commands.output import save_charts

NAME = "roofline"
SUMMARY = "draw the roofs of several devices in one chart"
HELP = """\
Draws the roofs of several devices in one chart, each with its ridge point. A device given as a
result file appears with its rows; a device file, or the name of one that comes with the program
(such as mi300x), appears as the maker or others describe it. Each type in --dtype has a line
style: solid, dashed, then dotted.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        metavar="FILE.json",
        type=Path,
        nargs="+",
        help="a result file, a device file, or a device's name",
    )
    parser.add_argument(
        "--dtype",
        metavar="NAME,...",
        default="tensor_bf16",
        help="peaks to draw, such as fp32 (default: %(default)s, or "
        "tensor_fp16 where a device has only that)",
    )
    parser.add_argument(
        "--out", metavar="DIR", type=Path, default=Path(), help="folder to write to (default: here)"
    )


def run(options: argparse.Namespace) -> None:
    from gpubench_reports.results.device_files import device_path
    from gpubench_reports.results.device_roofs import read_device_roofs

    devices = [
        read_device_roofs(path if path.exists() else device_path(str(path)))
        for path in options.files
    ]
    from gpubench_reports.charts import devices_chart

    figure = devices_chart.build(devices, [name for name in options.dtype.split(",") if name])
    save_charts(options.out, {"rooflines": figure})
