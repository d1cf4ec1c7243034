"""gpubench-report job: a training on many GPUs, from the rows of one."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpubench_reports.commands.output import save_charts
from gpubench_reports.common.errors import ReportError
from gpubench_reports.jobs.job import BATCH, FILTER, GPUS

if TYPE_CHECKING:
    import pandas as pd

    from gpubench_reports.jobs.forecast import Forecast
    from gpubench_reports.jobs.machine import Machine
    from gpubench_reports.results.reader import ResultFile

NAME = "job"
SUMMARY = "predict tokens per second and MFU of a training on many GPUs"
HELP = f"""\
Simulates one training step of models with 1.3, 7 and 70 billion parameters, or of a file's, on
many GPUs, from the rows of each RESULT. Tries common splits over data, tensor and pipeline
parallelism, and shows the fastest that fits into memory:

  tokens/s, per GPU   tokens per second, of all GPUs and of one
  published range     of tokens/s, if it is off by as much as published trainings of its kind were
  MFU                 6 FLOPs per token and parameter that multiplies, and 12 x layers x hidden x
                      sequence for attention, over the data sheet's bf16 peak
  compute             share of the step in products and attention
  bandwidth           in kernels that only move bytes, the optimizer among them
  communication       in collectives that nothing hides
  bubble              waiting for other pipeline stages
  memory              needed on a GPU
  days, GPU-hours     with --tokens: of the whole training

RESULT needs library products, attention, stream/copy and collectives:

  gpubench --suite=full --benchmark_out=RESULT.json \\
    --benchmark_filter='{FILTER}'

With --published, compares the simulation with trainings that others published, and prints the
errors as Markdown, or with --json as JSON.
"""
_MOST = 10**9
_MOST_TOKENS = 10**18


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", metavar="RESULT.json", type=Path, nargs="+")
    parser.add_argument(
        "--gpus", metavar="N,...", type=_counts, help="numbers of GPUs (default: 1,8,64,1024)"
    )
    parser.add_argument(
        "--batch",
        metavar="TOKENS",
        type=_count,
        help=f"tokens per step, on all GPUs together (default: {BATCH})",
    )
    parser.add_argument(
        "--models", metavar="FILE", type=Path, help="train this TOML file's models: docs/jobs.md"
    )
    parser.add_argument(
        "--tokens",
        metavar="N",
        type=_tokens,
        help="tokens of the whole training: also show its days and GPU-hours",
    )
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help="also draw the chart, into this folder"
    )
    parser.add_argument("--json", action="store_true", help="print JSON for other programs")
    parser.add_argument(
        "--published", metavar="TRAININGS", type=Path, help="compare with this folder's trainings"
    )
    parser.add_argument(
        "--pages",
        metavar="DIR",
        type=Path,
        help="with --published: also rewrite the tables in this folder's jobs.md and "
        "job-trainings.md",
    )
    parser.add_argument(
        "--ranges",
        metavar="FILE",
        type=Path,
        help="with --published: also write the range of each kind of training to this file",
    )


def run(options: argparse.Namespace) -> None:
    from gpubench_reports.jobs.machine import machine_of
    from gpubench_reports.results.reader import read

    _check_options(options)
    results = [read(path) for path in options.results]
    machines: dict[str, Machine] = {}
    for result in results:
        if result.context.device in machines:
            raise ReportError(result.path, f"is a second file of {result.context.device}")
        machines[result.context.device] = machine_of(result)
    if options.published:
        _tell_doubts(machines)
        _compare(options, machines)
    forecasts = _forecasts(options, results, machines)
    if options.out:
        from gpubench_reports.charts import job_chart

        save_charts(options.out, {"job": job_chart.build(forecasts)}, say=not options.json)
    if options.pages:
        from gpubench_reports.comparisons.published import rewrite_block
        from gpubench_reports.pages.job_report import plans_markdown

        rewrite_block(options.pages / "jobs.md", plans_markdown(forecasts), "plans")
    if not options.published:
        _print(options, forecasts)


def _tell_doubts(machines: "dict[str, Machine]") -> None:
    """On standard error: what is printed then goes into pages."""
    from gpubench_reports.results.doubts import doubts_line

    for device, machine in machines.items():
        if line := doubts_line(machine.doubts, machine.rows):
            print(f"{device}: {line}", file=sys.stderr)


def _check_options(options: argparse.Namespace) -> None:
    for name in ("pages", "ranges"):
        if getattr(options, name) and not options.published:
            raise ReportError(f"--{name}", "needs --published")
    changed = options.gpus or options.batch or options.tokens or options.models
    if options.pages and changed:
        raise ReportError("--pages", "goes without --gpus, --batch, --models and --tokens")


def _forecasts(
    options: argparse.Namespace, results: "Sequence[ResultFile]", machines: "dict[str, Machine]"
) -> "list[Forecast]":
    from gpubench_reports.jobs.forecast import Forecast
    from gpubench_reports.jobs.model_files import models_of, shipped_models
    from gpubench_reports.jobs.search import plans

    models = models_of(options.models) if options.models else shipped_models()
    gpus, batch = options.gpus or GPUS, options.batch or BATCH
    forecasts = []
    for context in (result.context for result in results):
        machine = machines[context.device]
        found = plans(machine, models, gpus, batch)
        forecasts.append(
            Forecast(context, found, batch, options.tokens, machine.rows, machine.doubts)
        )
    return forecasts


def _print(options: argparse.Namespace, forecasts: "Sequence[Forecast]") -> None:
    if options.json:
        from gpubench_reports.pages.job_report import plans_json

        print(plans_json(forecasts))
    else:
        from gpubench_reports.pages.terminal.job import print_forecasts

        print_forecasts(forecasts)


def _compare(options: argparse.Namespace, machines: "dict[str, Machine]") -> None:
    from gpubench_reports.common.files import write_atomically
    from gpubench_reports.common.json_text import json_text
    from gpubench_reports.jobs.comparison import compare_trainings
    from gpubench_reports.jobs.ranges import ranges_of, ranges_text
    from gpubench_reports.jobs.trainings import read_trainings
    from gpubench_reports.pages.training_report import errors_markdown, trainings_markdown

    trainings = read_trainings(options.published)
    compared = compare_trainings(trainings, machines)
    others = sorted({one.device for one in trainings} - set(machines))
    if others:
        if options.pages or options.ranges:
            raise ReportError("--published", f"needs a file of each device, {others[0]} too")
        count = len(trainings) - len(compared)
        print(f"{count} trainings on {', '.join(others)} are skipped", file=sys.stderr)
    if options.ranges:
        write_atomically(options.ranges, ranges_text(ranges_of(compared)).encode())
    if options.pages:
        _rewrite(options.pages, compared)
    if options.json:
        print(json_text(compared.drop(columns="job")))
    else:
        print(errors_markdown(compared), trainings_markdown(compared), sep="\n", end="")


def _rewrite(pages: Path, compared: "pd.DataFrame") -> None:
    from gpubench_reports.comparisons.published import rewrite_block
    from gpubench_reports.jobs.ranges import ranges_of
    from gpubench_reports.pages import training_report

    blocks = {"errors": training_report.errors_markdown(compared)}
    blocks["ranges"] = training_report.ranges_markdown(ranges_of(compared))
    for name, text in blocks.items():
        rewrite_block(pages / "jobs.md", text, name)
    text = training_report.trainings_markdown(compared)
    rewrite_block(pages / "job-trainings.md", text, "trainings")


def _whole(text: str, most: int) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < len(text) <= len(str(most)):
        number = 0
    else:
        number = int(text)
    if not 0 < number <= most:
        power = len(str(most)) - 1
        raise argparse.ArgumentTypeError(
            f"must be a whole number from 1 to 10^{power}, not '{text}'"
        )
    return number


def _count(text: str) -> int:
    return _whole(text, _MOST)


def _tokens(text: str) -> int:
    return _whole(text, _MOST_TOKENS)


def _counts(text: str) -> tuple[int, ...]:
    """Each once."""
    return tuple(dict.fromkeys(_count(part) for part in text.split(",")))
