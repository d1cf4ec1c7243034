"""gpubench-report render: every chart of a result file as PNG and SVG."""

import argparse
import sys
from pathlib import Path

from gpubench_reports.commands.output import PROGRAM, print_paths

NAME = "render"
SUMMARY = "draw all charts of a result file"
HELP = """\
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT.json", type=Path)
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help="where to (default: RESULT-charts beside the file)"
    )


def run(options: argparse.Namespace) -> None:
    from gpubench_reports.results.reader import read

    result = read(options.result)
    from gpubench_reports.charts.render import default_directory, render

    paths = render(result, options.out or default_directory(options.result))
    print_paths(paths)
    if not any(path.stem == "roofline" for path in paths):
        print(
            f"{PROGRAM}: no roofline: no row has both an arithmetic intensity and FLOP/s",
            file=sys.stderr,
        )
