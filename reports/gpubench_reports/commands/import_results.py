"""gpubench-report import: other programs' results as a result file."""

import argparse
from pathlib import Path

from gpubench_reports.commands.output import print_paths
from gpubench_reports.results.importers import PROGRAMS

NAME = "import"
SUMMARY = "turn other programs' results into a result file"
HELP = """\
Writes a result file with the rows of FILE, which another program wrote, so that they can be drawn
and compared like our own:

  nccl-tests   what all_reduce_perf, reduce_scatter_perf, ... print, as all_reduce/KERNEL/...
  babelstream  its --csv output, as stream/KERNEL/dtype:.../bytes:.../unroll:1
  gpu-benches  what its gpu-stream prints, as stream/KERNEL/dtype:fp64/.../block:...
  mixbench     what it prints, as roofline/mixbench/dtype:.../iterations:...
  nvbandwidth  its --json output, as nvbandwidth/TESTCASE/row:.../column:...
  nvbench      its --json output, as nvbench/BENCHMARK/AXIS:...

A figure is taken as the program states it; what it does not state is absent.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=Path)
    parser.add_argument("--from", dest="program", required=True, choices=tuple(PROGRAMS))
    parser.add_argument(
        "--device",
        metavar="NAME",
        default="",
        help="what gpubench calls the device, such as h200-sxm",
    )
    parser.add_argument("-o", "--out", metavar="OUT.json", type=Path, required=True)


def run(options: argparse.Namespace) -> None:
    from gpubench_reports.common.files import require_directory, write_atomically
    from gpubench_reports.results.importers import convert, to_bytes

    document = convert(options.file, options.program, options.device)
    require_directory(options.out.parent)
    write_atomically(options.out, to_bytes(document))
    print_paths([options.out])
