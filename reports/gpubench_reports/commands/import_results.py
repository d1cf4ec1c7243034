"""gpubench-report import: other programs' results as a result file."""

import argparse
from pathlib import Path

from gpubench_reports.commands.output import print_paths
from gpubench_reports.results.importers import PROGRAMS

NAME = "import"
SUMMARY = "convert other programs' results into a result file"
HELP = """\
Writes a result file with the rows of FILE, which comes from another program, so that you can draw
and compare them like gpubench's own:

  nccl-tests   output of all_reduce_perf, reduce_scatter_perf, ..., as all_reduce/KERNEL/...
  babelstream  output with --csv, as stream/KERNEL/dtype:.../bytes:.../unroll:1
  gpu-benches  output of gpu-stream, as stream/KERNEL/dtype:fp64/.../block:...
  mixbench     output, as roofline/mixbench/dtype:.../iterations:...
  nvbandwidth  output with --json, as nvbandwidth/TESTCASE/row:.../column:...
  nvbench      output with --json, as nvbench/BENCHMARK/AXIS:...

Values are taken as the program states them. A value that it does not state is absent.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=Path)
    parser.add_argument("--from", dest="program", required=True, choices=tuple(PROGRAMS))
    parser.add_argument(
        "--device",
        metavar="NAME",
        default="",
        help="gpubench's name for the device, such as h200-sxm",
    )
    parser.add_argument("-o", "--out", metavar="OUT.json", type=Path, required=True)


def run(options: argparse.Namespace) -> None:
    from gpubench_reports.common.files import require_output, write_atomically
    from gpubench_reports.results.importers import convert, to_bytes

    require_output(options.out, [options.file])
    document = convert(options.file, options.program, options.device)
    write_atomically(options.out, to_bytes(document))
    print_paths([options.out])
