"""gpubench-report counters: the model's counts against the profiler's."""

import argparse
from pathlib import Path

from gpubench_reports.commands.arguments import json_flag, result_or
from gpubench_reports.common.errors import ReportError

NAME = "counters"
SUMMARY = "compare the model's counts with ncu's"
HELP = """\
Compares the model's counts with Nsight Compute's, launch by launch:

  ./gpubench --profile --predict --benchmark_filter=F --benchmark_out=run.json
  ncu --profile-from-start off --nvtx --clock-control none --cache-control none \\
      --csv --page raw --print-units base --log-file profile.csv \\
      --metrics "$(gpubench-report counters --metrics)" ./gpubench --profile --benchmark_filter=F
  gpubench-report counters run.json profile.csv

Prints for each figure how many launches agree, then every difference, with its reason if one is
known. --times compares the times of another file, such as a hot run, with the profiler's durations.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    result_or(parser, "--metrics", "print the metrics to ask ncu for")
    parser.add_argument("profiles", metavar="PROFILE.csv", type=Path, nargs="*")
    parser.add_argument(
        "--times",
        metavar="FILE.json",
        type=Path,
        help="a measured file whose times to compare as well",
    )

    json_flag(parser)


def run(options: argparse.Namespace) -> None:
    from gpubench_reports.comparisons import counters, ncu_profile

    if options.metrics:
        print(",".join(ncu_profile.metrics()))
        return
    from gpubench_reports.results.reader import read

    result = read(options.result)
    if not options.profiles:
        raise ReportError(options.result, "no profile of ncu was given to compare it with")
    # All that may be wrong with a file is said before any two are compared.
    times = read(options.times) if options.times else None
    profiled = [launch for path in options.profiles for launch in ncu_profile.read_profile(path)]
    found = counters.compare(result, profiled)
    timed = counters.timings(times, profiled) if times else []
    if options.json:
        from gpubench_reports.common.json_text import json_text

        print(json_text({"counts": found, "times": timed}))
        return
    from gpubench_reports.pages.terminal.counters import print_counters, print_timings

    print_counters(found)
    if times:
        print_timings(timed)
