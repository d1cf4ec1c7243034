"""gpubench-report job: a training on many GPUs, from the rows of one."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpubench_reports.commands.output import save_charts
from gpubench_reports.common.errors import ReportError
from gpubench_reports.jobs.job import BATCH, GPUS

if TYPE_CHECKING:
    from gpubench_reports.jobs.forecast import Forecast
    from gpubench_reports.jobs.machine import Machine

NAME = "job"
SUMMARY = "predict tokens per second and MFU of a training on many GPUs"
HELP = """\
Simulates one training step of models with 1.3, 7 and 70 billion parameters on many GPUs, from the
rows of each RESULT. Tries every split over data, tensor and pipeline parallelism, and shows the
fastest that fits into memory:

  tokens/s, per GPU   tokens per second, of all GPUs and of one
  MFU                 6 FLOPs per token and parameter that multiplies, and 12 x layers x hidden x
                      sequence for attention, over the data sheet's bf16 peak
  compute             share of the step in products and attention
  bandwidth           in kernels that only move bytes, the optimizer among them
  communication       in collectives that nothing hides
  bubble              waiting for other pipeline stages
  memory              needed on a GPU

RESULT needs library products, attention, stream/copy and collectives:

  gpubench --suite=full --benchmark_out=RESULT.json \\
    --benchmark_filter='^(gemm_ladder/library|stream/copy|attention/.*q:[24]|all_reduce/all_r.*out)'

With --published, compares the simulation with trainings that others published, and prints the
errors as Markdown, or with --json as JSON.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", metavar="RESULT.json", type=Path, nargs="+")
    parser.add_argument(
        "--gpus",
        metavar="N,...",
        type=_counts,
        default=GPUS,
        help="numbers of GPUs (default: 1,8,64,1024)",
    )
    parser.add_argument(
        "--batch",
        metavar="TOKENS",
        type=_count,
        default=BATCH,
        help="tokens per step, on all GPUs together (default: %(default)s)",
    )
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help="also draw the chart, into this folder"
    )
    parser.add_argument("--json", action="store_true", help="print JSON for other programs")
    parser.add_argument(
        "--published", metavar="TRAININGS", type=Path, help="compare with this folder's trainings"
    )
    parser.add_argument(
        "--page",
        metavar="FILE",
        type=Path,
        help="with --published: also rewrite the blocks between the markers in this file",
    )


def run(options: argparse.Namespace) -> None:
    from gpubench_reports.jobs.forecast import Forecast
    from gpubench_reports.jobs.machine import machine_of
    from gpubench_reports.jobs.search import plans
    from gpubench_reports.pages.job_report import plans_json
    from gpubench_reports.results.reader import read

    if options.page and not options.published:
        raise ReportError("--page", "needs --published: it holds both tables")
    results = [read(path) for path in options.results]
    machines = [machine_of(result) for result in results]
    forecasts = [
        Forecast(result.context, plans(machine, options.gpus, options.batch))
        for result, machine in zip(results, machines, strict=True)
    ]
    if options.out:
        from gpubench_reports.charts import job_chart

        save_charts(options.out, {"job": job_chart.build(forecasts)}, say=not options.json)
    if options.published:
        named = {result.context.device: one for result, one in zip(results, machines, strict=True)}
        _compare(options, forecasts, named)
    elif options.json:
        print(plans_json(forecasts))
    else:
        from gpubench_reports.pages.terminal.job import print_forecasts

        print_forecasts(forecasts)


def _compare(
    options: argparse.Namespace,
    forecasts: "Sequence[Forecast]",
    machines: "dict[str, Machine]",
) -> None:
    from gpubench_reports.common.json_text import json_text
    from gpubench_reports.comparisons.published import rewrite_block
    from gpubench_reports.jobs.trainings import compare_trainings, read_trainings
    from gpubench_reports.pages.job_report import plans_markdown, trainings_markdown

    compared = compare_trainings(read_trainings(options.published), machines)
    text = trainings_markdown(compared)
    if options.page:
        rewrite_block(options.page, plans_markdown(forecasts), "plans")
        rewrite_block(options.page, text, "trainings")
    print(json_text(compared.drop(columns="job")) + "\n" if options.json else text, end="")


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= 10**9:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to 10^9, not '{text}'")
    return int(text)


def _counts(text: str) -> tuple[int, ...]:
    return tuple(_count(part) for part in text.split(","))
