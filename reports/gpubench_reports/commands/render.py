"""gpubench-report render: every chart of a result file as PNG and SVG."""

import argparse
import sys
from pathlib import Path

from gpubench_reports.commands.output import PROGRAM, print_paths
from gpubench_reports.common.plain_text import clean

NAME = "render"
SUMMARY = "draw all charts of a result file"
HELP = """\
Draws every chart that the file supports, as PNG and SVG, and prints their paths.

  roofline         rows with arithmetic intensity and FLOP/s, under the device's roofs. Solid roofs
                   were measured, dash-dot ones modelled. Of the device file's roofs, dashed ones
                   are known and dotted ones derived or assumed. (Not drawn if no row has an
                   arithmetic intensity)
  levels           rows whose prediction counts bytes at several memory levels, with one mark per
                   level (DRAM, L2, L1, shared memory), under the roof of that level
  concept-NAME     one per concept: a panel per kernel, along the swept axis; points with 95 %
                   intervals, the law as a broad dashed line, the model's prediction dotted;
                   a kernel that sweeps two axes also has a heat map, with the line where its law
                   levels off
  concept-NAME-wire  collectives: algorithm and bus bandwidth by size, with the alpha-beta fit
  concept-NAME-link  paths between host and devices: bandwidth by size, with the latency
  concept-NAME-matrix  every pair of devices
  concept-NAME-series  rows that were watched over time: rate, clock, power and temperature
  concept-NAME-error  the arithmetic rate of each dtype against the error of its results
  warp-N           one per kernel of NAME.explain.json, which --explain writes next to NAME.json:
                   which words of which sectors, or banks, each lane of a warp requests
  timeline-NAME    order and timing of events in one run of selected rows, if RESULT.trace.json
                   (gpubench --trace) of the same run is next to the file

Charts of an earlier file in RESULT-charts are removed; in a folder of --out they are named.

Names and axes come from the file, so a new concept is drawn without any change here.
Figures of the model device carry the watermark "MODELLED, not measured".
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT.json", type=Path)
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        help="folder to write to (default: RESULT-charts next to the file)",
    )


def run(options: argparse.Namespace) -> None:
    from gpubench_reports.results.reader import read

    result = read(options.result)
    from gpubench_reports.charts.render import default_directory, earlier_charts, render

    directory = options.out or default_directory(options.result)
    paths = render(result, directory)
    print_paths(paths)
    earlier = earlier_charts(directory, paths)
    if earlier and options.out is None:  # the folder is the file's own
        for path in earlier:
            path.unlink(missing_ok=True)
    elif earlier:
        names = ", ".join(clean(path.name) for path in earlier)
        where = clean(str(directory))
        print(f"{PROGRAM}: {where} also holds charts of other files: {names}", file=sys.stderr)
    if not any(path.stem == "roofline" for path in paths):
        print(
            f"{PROGRAM}: no roofline: no row has both an arithmetic intensity and FLOP/s",
            file=sys.stderr,
        )
